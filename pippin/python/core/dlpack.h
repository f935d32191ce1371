// DLPack's capsules of arrays, in all of their types.
#pragma once

#include <optional>

#include <pybind11/pybind11.h>

#include "pippin/mx/array.h"

namespace pippin::python::core {

// What __dlpack__ gives, over its memory. Nothing where there is no such method, or it
// raises BufferError, and for complex numbers of doubles. Throws ValueError
// for other devices and for types that arrays have not.
std::optional<mx::array> share_dlpack(PyObject* object);

// A new capsule; the arguments as __dlpack__ has them, null or None where not given. Memory that
// must not be written to is marked as read-only from version 1 on, and copied before, where nothing
// can say so. Throws BufferError for other devices and for a copy that `copy` forbids.
PyObject* give_dlpack(const mx::array& a, PyObject* max_version, PyObject* device,
                      std::optional<bool> copy);

}  // namespace pippin::python::core
