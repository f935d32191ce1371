// Nested lists of Python and arrays.
#pragma once

#include <optional>

#include <pybind11/pybind11.h>

#include "pippin/mx/array.h"

namespace pippin::python::core {

// Of a list or tuple: bools, integers (int32, int64 where one needs it), floats or complex numbers
// by what is in it; arrays in it are stacked. Throws ValueError for lists of differing lengths.
mx::array array_of_lists(PyObject* list, std::optional<mx::Dtype> dtype);

}  // namespace pippin::python::core
