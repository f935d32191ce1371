// Records a Python function once and runs the recording on later calls.
#pragma once

#include <pybind11/pybind11.h>

#include "pippin/python/core/function.h"

namespace pippin::python::core {

// compile(fun, inputs=None, outputs=None, shapeless=False).
PyObject* compile(const Args& args);

void bind_compiled(pybind11::module_& module);

}  // namespace pippin::python::core
