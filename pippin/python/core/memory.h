// Memory of other libraries as arrays, and of arrays for others: buffers and DLPack, with the types
// that models' tensors have not (bfloat16, complex64).
#pragma once

#include <optional>

#include <pybind11/pybind11.h>

#include "pippin/mx/array.h"

namespace pippin::python::core {

// A copy of what has a buffer or __dlpack__; float64 becomes float32 unless `dtype` says otherwise.
// Nothing for an object with neither. Throws ValueError for elements that are no numbers.
std::optional<mx::array> read_memory(PyObject* object, std::optional<mx::Dtype> dtype);
// The memory itself, kept until no array reads it. Nothing where that cannot be: no such memory,
// a float64 type, strides that are no whole elements.
std::optional<mx::array> share_memory(PyObject* object);

// Whether other libraries may write to the memory of an array that is available: not to files that
// are mapped, nor to borrowed memory itself.
bool is_writable(const mx::array& a);

void bind_memory(pybind11::module_& module);  // from_dlpack, and the array's methods

}  // namespace pippin::python::core
