// Python's numbers, sequences and buffers as arrays, and arrays as Python's numbers and lists.
#pragma once

#include <optional>

#include <pybind11/pybind11.h>

#include "pippin/mx/array.h"

namespace pippin::python::core {

// Arrays, numbers, what has __mlx_array__, a buffer or __dlpack__; nothing for other objects (lists
// among them). Numbers and buffers take the type of the array that they stand beside, as far as it
// can hold them: a fraction beside integers is float32.
std::optional<mx::array> try_array(PyObject* object, std::optional<mx::Dtype> beside);

// What array(object, dtype) makes: nested lists and tuples as well. Always a copy of memory that is
// somebody else's. Throws ValueError for lists of differing lengths and what is no number.
mx::array create(PyObject* object, std::optional<mx::Dtype> dtype);

// Shares memory where it can. `copy` true: never; false: only, ValueError where it cannot.
mx::array as_array(PyObject* object, std::optional<mx::Dtype> dtype, std::optional<bool> copy);

// The only number of an array. Throws ValueError where there are others.
pybind11::object to_number(const mx::array& a);
// Nested lists; a number for an array without axes.
pybind11::object to_list(const mx::array& a);

}  // namespace pippin::python::core
