#include "pippin/python/core/module.h"

#include "pippin/python/core/dtypes.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/memory.h"
#include "pippin/python/core/methods.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

// Runs once: the types are shared by the process.
py::object load() {
  static PyObject* loaded = nullptr;
  if (loaded == nullptr) {
    py::module_ outer = py::module_::import("pippin._pippin");
    py::module_ module = outer.def_submodule("core", "Arrays: the part in C++.");
    bind_function_type();
    bind_dtypes(module);
    bind_array(module);
    bind_elementwise(module);
    bind_reductions(module);
    bind_shapes(module);
    bind_creation(module);
    bind_products(module);
    bind_fast(module);
    bind_random(module);
    bind_files(module);
    bind_evaluation(module);
    bind_export(module);
    bind_subscripts(module);
    bind_memory(module);
    bind_methods(module);
    loaded = module.inc_ref().ptr();
  }
  return py::reinterpret_borrow<py::object>(loaded);
}

}  // namespace

void bind(py::module_& module) {
  module.def("_load_core", &load);
}

}  // namespace pippin::python::core
