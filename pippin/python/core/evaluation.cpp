#include "pippin/mx/core/buffer.h"
#include "pippin/mx/export/compile.h"
#include "pippin/python/core/compile.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"
#include "pippin/python/core/trees.h"
#include "pippin/python/interrupt.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

std::vector<mx::array> arrays_of(std::span<PyObject* const> trees) {
  std::vector<mx::array> arrays;
  for (PyObject* const tree : trees) collect_arrays(tree, arrays);
  return arrays;
}

PyObject* size(size_t bytes) {
  return PyLong_FromSize_t(bytes);
}

constexpr Definition kEvaluationFunctions[] = {
    {"eval", "*args",
     [](const Args& args) {
       evaluate(arrays_of(args.rest()));
       return give_none();
     }},
    {"async_eval", "*args",
     [](const Args& args) {
       const std::vector<mx::array> arrays = arrays_of(args.rest());
       without_lock([&] { mx::async_eval(arrays); });
       return give_none();
     }},
    {"synchronize", "stream_or_device=None",
     [](const Args&) {
       without_lock([] { mx::synchronize(); });
       return give_none();
     }},
    {"depends", "inputs, dependencies",
     [](const Args& args) {
       // Computes the dependencies at once: a recorded array depends only on its own inputs.
       std::vector<mx::array> needed;
       collect_arrays(args.raw(1), needed);
       evaluate(needed);
       Py_INCREF(args.raw(0));
       return args.raw(0);
     }},
    {"get_active_memory", "", [](const Args&) { return size(mx::memory_use().active); }},
    {"get_peak_memory", "", [](const Args&) { return size(mx::memory_use().peak); }},
    {"get_cache_memory", "", [](const Args&) { return size(mx::memory_use().cached); }},
    {"reset_peak_memory", "",
     [](const Args&) {
       mx::reset_peak_memory();
       return give_none();
     }},
    {"set_cache_limit", "limit",
     [](const Args& args) {
       const int64_t limit = args.integer(0);
       if (limit < 0) throw py::value_error("[set_cache_limit] A limit below 0.");
       return size(mx::set_cache_limit(static_cast<size_t>(limit)));
     }},
    {"clear_cache", "",
     [](const Args&) {
       mx::clear_cache();
       return give_none();
     }},
    {"enable_compile", "",
     [](const Args&) {
       mx::enable_compile(true);
       return give_none();
     }},
    {"disable_compile", "",
     [](const Args&) {
       mx::enable_compile(false);
       return give_none();
     }},
    {"compile", "fun, inputs=None, outputs=None, shapeless=False", &compile},
};

}  // namespace

void bind_evaluation(py::module_& module) {
  define(module, "pippin.core", kEvaluationFunctions);
  bind_compiled(module);
}

}  // namespace pippin::python::core
