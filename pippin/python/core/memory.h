// Arrays over the memory of other libraries and the reverse: buffers and DLPack, including the
// types that tensors of models do not have (bfloat16, complex64).
#pragma once

#include <optional>

#include <pybind11/pybind11.h>

#include "pippin/mx/core/array.h"

namespace pippin::python::core {

// Copies the memory of an object with a buffer or __dlpack__; float64 becomes float32 unless
// `dtype` says otherwise. Empty for other objects. Throws ValueError for elements that are not
// numbers.
std::optional<mx::array> read_memory(PyObject* object, std::optional<mx::Dtype> dtype);
// Shares the memory and keeps it until no array uses it. Empty if that is not possible: no such
// memory, float64, strides that are not multiples of the element size.
std::optional<mx::array> share_memory(PyObject* object);

// Whether other libraries may write to the memory of an evaluated array: not to mapped files and
// borrowed memory.
bool is_writable(const mx::array& a);

void bind_memory(pybind11::module_& module);  // from_dlpack and methods of arrays

}  // namespace pippin::python::core
