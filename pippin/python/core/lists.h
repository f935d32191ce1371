// Converts nested Python lists to arrays and back.
#pragma once

#include <optional>

#include <pybind11/pybind11.h>

#include "pippin/mx/core/array.h"

namespace pippin::python::core {

// Whether an object is a list or a tuple.
bool is_list(PyObject* object);

// Converts a list or tuple. The elements decide the type: bool, integer (int32, or int64 if
// needed), float or complex. Arrays among them are stacked. Throws ValueError for lists of
// differing lengths.
mx::array array_of_lists(PyObject* list, std::optional<mx::Dtype> dtype);

}  // namespace pippin::python::core
