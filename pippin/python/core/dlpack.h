// DLPack capsules of arrays of all types.
#pragma once

#include <optional>

#include <pybind11/pybind11.h>

#include "pippin/mx/core/array.h"

namespace pippin::python::core {

// An array over the result of the object's __dlpack__. Empty if there is no such method, if it
// raises BufferError, and for complex128. Throws ValueError for other devices and for types that
// arrays do not have.
std::optional<mx::array> share_dlpack(PyObject* object);

// Returns a new capsule. The arguments are those of __dlpack__; null or None if not given.
// Read-only memory is marked as such from version 1 on; earlier versions cannot mark it, so it is
// copied. Throws BufferError for other devices and for a copy that `copy` forbids.
PyObject* give_dlpack(const mx::array& a, PyObject* max_version, PyObject* device,
                      std::optional<bool> copy);

}  // namespace pippin::python::core
