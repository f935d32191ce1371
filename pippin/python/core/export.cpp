// The C++ part of pippin.export() (pippin/python/pippin/_export.py).
#include "pippin/mx/export/export.h"

#include <string>
#include <utility>
#include <vector>

#include "pippin/python/background_work.h"
#include "pippin/python/core/dtypes.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

// The arguments come from this package's Python code: tuples and lists of the right length.

mx::ExportedSize size_of(py::handle size) {
  if (PyLong_Check(size.ptr()) != 0) return size.cast<int64_t>();
  const auto range = size.cast<py::tuple>();
  return {range[0].cast<int64_t>(), range[1].cast<int64_t>(), range[2].cast<std::string>()};
}

mx::Shape shape_of(py::handle sizes) {
  mx::Shape shape;
  for (const py::handle size : sizes) shape.push_back(size.cast<int64_t>());
  return shape;
}

// (name, type, sizes, shapes)
mx::ExportedInput input_of(py::handle item) {
  const auto tuple = item.cast<py::tuple>();
  mx::ExportedInput input{tuple[0].cast<std::string>(), dtype_of(tuple[1].ptr()), {}, {}};
  for (const py::handle size : tuple[2]) input.shape.push_back(size_of(size));
  for (const py::handle shape : tuple[3]) input.shapes.push_back(shape_of(shape));
  return input;
}

// Calls the function, with the GIL, with lists of its inputs and states. It returns a list of names
// and outputs and a list of the new states.
mx::ExportedResults call_body(const py::object& body, const mx::ExportedArrays& given) {
  const auto list = [](const std::vector<mx::array>& arrays) {
    return py::reinterpret_steal<py::object>(wrap_list(arrays));
  };
  const auto results = body(list(given.inputs), list(given.states)).cast<py::tuple>();
  mx::ExportedResults recorded;
  for (const py::handle item : results[0]) {
    const auto output = item.cast<py::tuple>();
    recorded.outputs.emplace_back(output[0].cast<std::string>(), value_of(output[1].ptr()));
  }
  for (const py::handle state : results[1]) recorded.states.push_back(value_of(state.ptr()));
  return recorded;
}

// (name, inputs, [(name, shape) of a state], body)
mx::ExportedFunction function_of(py::handle item, BackgroundWork& background) {
  const auto tuple = item.cast<py::tuple>();
  mx::ExportedFunction function;
  function.name = tuple[0].cast<std::string>();
  for (const py::handle input : tuple[1]) function.inputs.push_back(input_of(input));
  for (const py::handle state : tuple[2]) {
    const auto named = state.cast<py::tuple>();
    function.states.push_back({named[0].cast<std::string>(), shape_of(named[1])});
  }
  // The list of functions owns it and outlives the export.
  PyObject* const body = tuple[3].cast<py::object>().ptr();
  function.body = [body, &background](const mx::ExportedArrays& given) {
    mx::ExportedResults results;
    background.call_python(
        [&] { results = call_body(py::reinterpret_borrow<py::object>(body), given); });
    return results;
  };
  return function;
}

constexpr Definition kExportFunctions[] = {
    {"_export_package", "path, functions",
     [](const Args& args) {
       const std::string path = args.text(0, "");
       if (PyList_Check(args.raw(1)) == 0) args.refuse(1, "a list of tuples");
       const auto given = py::reinterpret_borrow<py::list>(args.raw(1));
       std::vector<mx::ExportedFunction> functions;
       run_work(
           [&](BackgroundWork& background) {
             for (const py::handle item : given) functions.push_back(function_of(item, background));
           },
           [&](BackgroundWork&) { mx::export_package(path, functions); });
       return give_none();
     }},
};

}  // namespace

void bind_export(py::module_& module) {
  define(module, "pippin.core", kExportFunctions);
}

}  // namespace pippin::python::core
