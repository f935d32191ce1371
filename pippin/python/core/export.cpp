// What pippin.export() (pippin/_export.py) is made of.
#include "pippin/mx/export.h"

#include <string>
#include <utility>
#include <vector>

#include "pippin/mx/compile.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"
#include "pippin/python/interrupt.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

// Tuples of a name and one or more arrays, as they come from Python of this package.
py::list tuples_of(const Args& args, size_t i) {
  if (PyList_Check(args.raw(i)) == 0) args.refuse(i, "a list of tuples");
  return py::reinterpret_borrow<py::list>(args.raw(i));
}

const mx::array& array_at(const Args& args, size_t i, const py::tuple& tuple, size_t place) {
  if (place >= tuple.size() || !is_array(tuple[place].ptr())) args.refuse(i, "a list of arrays");
  return value_of(tuple[place].ptr());
}

std::vector<mx::NamedArray> named_arrays(const Args& args, size_t i) {
  std::vector<mx::NamedArray> result;
  for (const py::handle item : tuples_of(args, i)) {
    const auto tuple = item.cast<py::tuple>();
    result.emplace_back(tuple[0].cast<std::string>(), array_at(args, i, tuple, 1));
  }
  return result;
}

std::vector<mx::NamedState> named_states(const Args& args, size_t i) {
  std::vector<mx::NamedState> result;
  for (const py::handle item : tuples_of(args, i)) {
    const auto tuple = item.cast<py::tuple>();
    result.push_back(
        {tuple[0].cast<std::string>(), array_at(args, i, tuple, 1), array_at(args, i, tuple, 2)});
  }
  return result;
}

constexpr Definition kFunctions[] = {
    {"_placeholder", "shape, dtype",
     [](const Args& args) { return give(mx::Trace::placeholder(args.dtype(1), args.shape(0))); }},
    {"_export_package", "path, inputs, outputs, states",
     [](const Args& args) {
       const std::string path = args.text(0, "");
       const auto inputs = named_arrays(args, 1);
       const auto outputs = named_arrays(args, 2);
       const auto states = named_states(args, 3);
       run_call(nullptr, [&] { mx::export_package(path, inputs, outputs, states); });
       return give_none();
     }},
};

}  // namespace

void bind_export(py::module_& module) {
  define(module, "pippin.core", kFunctions);
}

}  // namespace pippin::python::core
