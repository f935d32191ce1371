#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/api/device.h"
#include "pippin/api/model.h"
#include "pippin/base/threads/fork.h"
#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/features.h"
#include "pippin/python/function.h"
#include "pippin/python/lock.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// A model with its functions that are in use.
class PyModel {
 public:
  explicit PyModel(ModelSource source) : source_(std::move(source)), model_(source_.load()) {}

  // Planned on first use; "": the default function.
  std::shared_ptr<PyFunction> function(const std::string& name) {
    const std::string& wanted = name.empty() ? model_.default_function() : name;
    const auto known = known_.find(wanted);
    if (known != known_.end()) return known->second;
    return known_.emplace(wanted, make_function(wanted)).first->second;
  }

  std::unique_ptr<PyState> make_state(const std::string& name) {
    if (!name.empty()) return std::make_unique<PyState>(function(name)->function().make_state());
    return std::make_unique<PyState>(model_.make_state());
  }

  const Model& model() const { return model_; }
  const ModelSource& source() const { return source_; }

 private:
  // Runs once per name, even if several threads request it.
  std::shared_ptr<PyFunction> make_function(const std::string& name) {
    const Unlocked unlocked;
    const auto functions = functions_.access();
    const auto made = functions->find(name);
    if (made != functions->end()) return made->second;
    auto function = std::make_shared<PyFunction>(source_, model_.function(name));
    return functions->emplace(name, std::move(function)).first->second;
  }

  using Functions = std::map<std::string, std::shared_ptr<PyFunction>, std::less<>>;

  const ModelSource source_;
  const Model model_;
  Functions known_;                   // guarded by the GIL
  ForkGuarded<Functions> functions_;  // being created
};

// The absolute path, for other processes that may have another working directory.
std::filesystem::path from_root(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path result = std::filesystem::absolute(path, error);
  return error ? path : result;
}

py::dict metadata_of(const Model& model) {
  const ModelMetadata& metadata = model.metadata();
  py::dict result;
  result["specification_version"] = metadata.specification_version;
  result["kind"] = metadata.kind;
  result["short_description"] = metadata.short_description;
  result["version"] = metadata.version;
  result["author"] = metadata.author;
  result["license"] = metadata.license;
  result["user_defined"] = metadata.user_defined;
  return result;
}

// {"x": "float32 [1, 4]"}, for a function by name.
auto descriptions(const std::vector<FeatureInfo>& (Function::*of)() const) {
  return [of](PyModel& self, const std::string& name) {
    return descriptions_by_name((self.function(name)->function().*of)());
  };
}

}  // namespace

void bind_models(py::module_& module) {
  module.def("_has_core_ml", &has_core_ml, "Whether this system has Core ML.");
  py::class_<PyModel>(module, "Model", docs::kModel)
      .def(py::init([](const std::filesystem::path& path, const std::string& precision,
                       int num_threads, const std::filesystem::path& load_cache,
                       const std::string& backend, const std::string& compute_units) {
             return std::make_unique<PyModel>(ModelSource{from_root(path).string(), precision,
                                                          num_threads, load_cache.string(), backend,
                                                          compute_units});
           }),
           py::arg("path"), py::kw_only(), py::arg("precision") = "exact",
           py::arg("num_threads") = 0, py::arg("load_cache") = "", py::arg("backend") = "cpu",
           py::arg("compute_units") = "",
           "Opens a model. precision: \"exact\" (fp32), \"fast\" or \"reference\"; num_threads: 0 "
           "for one per core; load_cache: a folder that keeps converted weights; backend: \"cpu\", "
           "\"cuda\" or \"cuda:1\" (one of NVIDIA's GPUs), \"auto\" (a GPU that can be used, else "
           "the CPU), or \"coreml\" on a Mac, with compute_units \"all\", \"cpuAndNeuralEngine\", "
           "\"cpuAndGPU\" or \"cpuOnly\".")
      .def(
          "predict",
          [](PyModel& self, const py::object& inputs, const py::object& state,
             const py::object& out, const std::string& function, bool as_tensors, bool as_pictures,
             const CancelToken* cancel) {
            return self.function(function)->predict(inputs, state, out, {as_tensors, as_pictures},
                                                    cancel);
          },
          py::arg("inputs"), py::arg("state") = py::none(), py::kw_only(),
          py::arg("out") = py::none(), py::arg("function") = "", py::arg("as_tensors") = false,
          py::arg("as_pictures") = false, py::arg("cancel") = py::none(),
          "Returns the outputs by name, in the declared types, a scalar as (1,): NumPy arrays, "
          "Tensors with as_tensors, and PIL images with as_pictures where an image is declared. "
          "Inputs are read in place. With `out`, a dict of arrays, the outputs named there are "
          "written into them, and `out` is returned. Raises InvalidArgumentError for inputs, "
          "states and targets that are not as declared, LimitExceededError, CancelledError, "
          "DeviceError, and InvalidFileError if an operation rejects its data.")
      .def(
          "predict_batch",
          [](PyModel& self, const py::object& batch, const std::string& function, bool as_tensors,
             bool as_pictures, const CancelToken* cancel) {
            return self.function(function)->predict_batch(batch, {as_tensors, as_pictures}, cancel);
          },
          py::arg("batch"), py::kw_only(), py::arg("function") = "", py::arg("as_tensors") = false,
          py::arg("as_pictures") = false, py::arg("cancel") = py::none(),
          "Returns the outputs of each dict of inputs, one after the other. Raises the errors of "
          "predict(), with the position in the batch.")
      .def(
          "predict_async",
          [](const py::object& self, const py::object& inputs, const py::object& state,
             const py::object& out, const std::string& function, bool as_tensors,
             bool as_pictures) {
            return start(
                self, inputs, state,
                py::dict(py::arg("out") = out, py::arg("function") = function,
                         py::arg("as_tensors") = as_tensors, py::arg("as_pictures") = as_pictures));
          },
          py::arg("inputs"), py::arg("state") = py::none(), py::kw_only(),
          py::arg("out") = py::none(), py::arg("function") = "", py::arg("as_tensors") = false,
          py::arg("as_pictures") = false,
          "Awaits predict() in a thread, and raises its errors. A task that is cancelled cancels "
          "the prediction, and ends when that has ended.")
      .def("function", &PyModel::function, py::arg("name") = "",
           "Returns a function by name, or the default one, planned on first use. Raises "
           "NotFoundError; UnsupportedError for an operation, with its name and opset; "
           "InvalidFileError.")
      .def("make_state", &PyModel::make_state, py::arg("function") = "",
           "Returns a new state, all zeros, for all functions or for one. Raises NotFoundError for "
           "an unknown function, and UnsupportedError if states of the same name differ between "
           "functions.")
      .def(
          "compile",
          [](const PyModel& self, const std::filesystem::path& path) {
            without_lock([&] { self.model().compile(path); });
          },
          py::arg("path"),
          "Writes the model in the form of Core ML's compiler, an .mlmodelc. Raises "
          "InvalidArgumentError for another suffix, InputOutputError.")
      .def_property_readonly(
          "path", [](const PyModel& self) { return self.source().path; },
          "The absolute path that it was opened from.")
      .def_property_readonly(
          "functions", [](const PyModel& self) { return self.model().function_names(); },
          "The names of the functions.")
      .def_property_readonly(
          "default_function", [](const PyModel& self) { return self.model().default_function(); },
          "The name of the default function.")
      .def_property_readonly(
          "metadata", [](const PyModel& self) { return metadata_of(self.model()); },
          "The model's metadata; user_defined is a dict of its own keys.")
      .def("inputs", descriptions(&Function::inputs), py::arg("function") = "",
           "Returns a description of each input, by name: {\"x\": \"float32 [1, 4]\"}. Raises "
           "NotFoundError for an unknown function.")
      .def("outputs", descriptions(&Function::outputs), py::arg("function") = "",
           "Returns a description of each output, by name. Raises NotFoundError for an unknown "
           "function.")
      .def("states", descriptions(&Function::states), py::arg("function") = "",
           "Returns a description of each state, by name. Raises NotFoundError for an unknown "
           "function.")
      .def(
          "features",
          [](const PyModel& self, const std::string& name) {
            const Model& asked = self.model();
            return declared(asked.describe(name.empty() ? asked.default_function() : name));
          },
          py::arg("function") = "",
          "Returns inputs, outputs and states: lists of dicts with name, description, kind, type, "
          "shape, ranges, enumerated_shapes, optional, default_value and color_space. Prepares "
          "nothing. Raises NotFoundError for an unknown function.")
      .def("__repr__", [](const PyModel& self) { return "Model(" + self.source().path + ")"; })
      .def(py::pickle([](const PyModel& self) { return self.source().arguments(); },
                      [](const py::tuple& arguments) {
                        return std::make_unique<PyModel>(ModelSource::from(arguments));
                      }));
}

}  // namespace pippin::python
