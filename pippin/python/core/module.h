// `_pippin.core`, from which pippin/python/pippin/core takes its names. Made when it is first asked
// for, so that `import pippin` does not wait for it.
#pragma once

#include <pybind11/pybind11.h>

namespace pippin::python::core {

void bind(pybind11::module_& module);  // _load_core()

}  // namespace pippin::python::core
