// Converts Python numbers, sequences and buffers to arrays, and arrays to Python numbers and lists.
#pragma once

#include <optional>

#include <pybind11/pybind11.h>

#include "pippin/mx/core/array.h"

namespace pippin::python::core {

// Converts arrays, numbers, and objects with __mlx_array__, a buffer or __dlpack__; returns an
// empty value for other objects (including lists). Numbers and buffers get the type `other_type` of
// the other operand if it can hold them: a fraction next to integers becomes float32.
std::optional<mx::array> try_array(PyObject* object, std::optional<mx::Dtype> other_type);

// Implements array(object, dtype), including nested lists and tuples. Memory of other objects is
// always copied. Throws ValueError for lists of differing lengths and for elements that are not
// numbers.
mx::array create(PyObject* object, std::optional<mx::Dtype> dtype);

// Shares memory if possible. `copy` true: never; false: always, with a ValueError if that is not
// possible.
mx::array as_array(PyObject* object, std::optional<mx::Dtype> dtype, std::optional<bool> copy);

// The element of an array with one element. Throws ValueError for other arrays.
pybind11::object to_number(const mx::array& a);
// Nested lists; a number for an array of rank 0.
pybind11::object to_list(const mx::array& a);

}  // namespace pippin::python::core
