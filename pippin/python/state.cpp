#include "pippin/python/state.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/base/error.h"
#include "pippin/python/arrays.h"
#include "pippin/python/bindings.h"
#include "pippin/python/buffers.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/features.h"
#include "pippin/python/lock.h"
#include "pippin/python/tensor.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

std::vector<std::string> names_of(const PyState& self) {
  std::vector<std::string> names;
  for (const FeatureInfo& feature : self.state.features()) names.push_back(feature.name);
  return names;
}

bool contains(const PyState& self, const py::object& name) {
  if (!py::isinstance<py::str>(name)) return false;
  const auto wanted = name.cast<std::string>();
  for (const FeatureInfo& feature : self.state.features()) {
    if (feature.name == wanted) return true;
  }
  return false;
}

py::object read(PyState& self, const std::string& name) {
  const auto used = self.use();
  return to_array(self.state.get(name));
}

void write(PyState& self, const std::string& name, const py::object& array) {
  const Tensor value = to_tensor(array, name);
  const auto used = self.use();
  without_lock([&] { self.state.set(name, value); });
}

py::object view(PyState& self, const std::string& name, bool as_tensor) {
  const auto used = self.use();
  Tensor tensor = self.state.view(name);
  if (as_tensor) return py::cast(std::make_unique<PyTensor>(std::move(tensor)));
  return to_array(std::move(tensor));
}

std::unique_ptr<PyState> copy(PyState& self) {
  const auto used = self.use();
  std::unique_ptr<PyState> copied;
  without_lock([&] { copied = std::make_unique<PyState>(self.state.clone()); });
  return copied;
}

}  // namespace

std::unique_lock<ForkMutex> PyState::use() {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) fail(ErrorCode::InvalidArgument, "the state is used by another prediction");
  return lock;
}

PyState* find_state(py::handle argument) {
  if (argument.is_none()) return nullptr;
  if (!py::isinstance<PyState>(argument)) {
    throw py::type_error("state: expected a State, not " + type_name(argument));
  }
  return argument.cast<PyState*>();
}

void bind_states(py::module_& module) {
  py::class_<PyState> type(module, "State", docs::kState);
  type.def("__getitem__", &read, py::arg("name"), "A copy of the array.")
      .def("__setitem__", &write, py::arg("name"), py::arg("array"), "Copies an array in.")
      .def("view", &view, py::arg("name"), py::kw_only(), py::arg("as_tensor") = false,
           "Returns the state's own array, for reading and writing between predictions. It stays "
           "valid as long as it is kept. Raises NotFoundError, UnsupportedError for memory of a "
           "device, and InvalidArgumentError while a prediction uses the state.")
      .def("keys", &names_of, "The names of the arrays.")
      .def(
          "values",
          [](PyState& self) {
            py::list values;
            for (const std::string& name : names_of(self)) values.append(read(self, name));
            return values;
          },
          "Copies of the arrays.")
      .def(
          "items",
          [](PyState& self) {
            py::list items;
            for (const std::string& name : names_of(self)) {
              items.append(py::make_tuple(name, read(self, name)));
            }
            return items;
          },
          "Names with copies of the arrays.")
      .def("__iter__", [](const PyState& self) { return py::iter(py::cast(names_of(self))); })
      .def("__len__", [](const PyState& self) { return self.state.features().size(); })
      .def("__contains__", &contains, py::arg("name"))
      .def_property_readonly(
          "features", [](const PyState& self) { return features_by_name(self.state.features()); },
          "A description of each array, by name.")
      .def(
          "reset",
          [](PyState& self) {
            const auto used = self.use();
            self.state.reset();
          },
          "Sets all arrays to zero. Raises InvalidArgumentError while a prediction uses the state.")
      .def("copy", &copy,
           "Returns a state with the same values in memory of its own. Raises InvalidArgumentError "
           "while a prediction uses the state, LimitExceededError.")
      .def("__copy__", &copy)
      .def(
          "__deepcopy__", [](PyState& self, const py::object&) { return copy(self); },
          py::arg("memo"))
      .def(
          "save",
          [](PyState& self, const std::filesystem::path& path) {
            const auto used = self.use();
            without_lock([&] { self.state.save(path); });
          },
          py::arg("path"),
          "Writes all arrays into an .npz file. Raises InputOutputError, and InvalidArgumentError "
          "while a prediction uses the state.")
      .def(
          "load",
          [](PyState& self, const std::filesystem::path& path) {
            const auto used = self.use();
            without_lock([&] { self.state.load(path); });
          },
          py::arg("path"),
          "Reads a file of save(), here or for another model with the same states. Raises "
          "NotFoundError, InvalidFileError, or InvalidArgumentError unless the file has all "
          "arrays, in their shapes; nothing changes then.");
  py::module_::import("collections.abc").attr("Mapping").attr("register")(type);
}

}  // namespace pippin::python
