// `_pippin.core`, whose names pippin/python/pippin/core re-exports. Created on first use, so that
// `import pippin` does not wait for it.
#pragma once

#include <pybind11/pybind11.h>

namespace pippin::python::core {

void bind(pybind11::module_& module);  // _load_core()

}  // namespace pippin::python::core
