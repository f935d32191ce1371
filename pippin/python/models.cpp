#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "pippin/api/model.h"
#include "pippin/base/error.h"
#include "pippin/python/arrays.h"
#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/errors.h"
#include "pippin/python/features.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// A state, which one prediction at a time may use.
struct PyState {
  explicit PyState(State made) : state(std::move(made)) {}

  State state;
  std::mutex mutex;

  std::unique_lock<std::mutex> use() {
    std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) fail(ErrorCode::InvalidArgument, "the state is used by another prediction");
    return lock;
  }
};

// A model, with the functions that were asked for.
class PyModel {
 public:
  PyModel(const std::string& path, const std::string& precision, int num_threads,
          const std::string& load_cache)
      : path_(path), precision_(precision), num_threads_(num_threads), load_cache_(load_cache) {
    LoadOptions options;
    options.num_threads = num_threads;
    options.load_cache = load_cache;
    if (precision == "exact") {
      options.precision = Precision::Exact;
    } else if (precision == "reference") {
      options.precision = Precision::Reference;
    } else if (precision != "fast") {
      fail(ErrorCode::InvalidArgument, "precision: \"{}\" is not fast, exact or reference",
           precision);
    }
    without_lock([&] { model_ = std::make_unique<Model>(Model::load(path, options)); });
  }

  // Planned when it is first asked for.
  const Function& function(const std::string& name) {
    const std::string& wanted = name.empty() ? model_->default_function() : name;
    const Function* found = nullptr;
    without_lock([&] {
      const std::lock_guard lock(mutex_);
      auto& function = functions_[wanted];
      if (function == nullptr) {
        function = std::make_unique<Function>(model_->function(wanted));
      }
      found = function.get();
    });
    return *found;
  }

  py::dict predict(const py::dict& inputs, PyState* state, const py::object& out,
                   const std::string& name) {
    const Function& called = function(name);
    Values given;
    for (const auto& [key, value] : inputs) {
      if (!py::isinstance<py::str>(key)) {
        fail(ErrorCode::InvalidArgument, "the names of inputs are texts");
      }
      const auto input = key.cast<std::string>();
      given[input] = to_value(value, input);
    }
    std::unique_lock<std::mutex> used;
    if (state != nullptr) used = state->use();
    if (!out.is_none()) return predict_into(called, given, state, out);
    Values results;
    without_lock([&] {
      results = state == nullptr ? called.predict(given) : called.predict(given, state->state);
    });
    py::dict result;
    for (auto& [output, value] : results) result[py::str(output)] = to_object(std::move(value));
    return result;
  }

  std::unique_ptr<PyState> make_state(const std::string& name) {
    if (!name.empty()) return std::make_unique<PyState>(function(name).make_state());
    return std::make_unique<PyState>(model_->make_state());
  }

  const Model& model() const { return *model_; }
  // What it takes to open it again.
  py::tuple arguments() const {
    return py::make_tuple(path_, precision_, num_threads_, load_cache_);
  }

 private:
  py::dict predict_into(const Function& called, const Values& given, PyState* state,
                        const py::object& out) {
    if (!py::isinstance<py::dict>(out)) {
      fail(ErrorCode::InvalidArgument, "out: expected a dict of arrays by name");
    }
    Values targets;
    for (const auto& [key, value] : out.cast<py::dict>()) {
      const auto output = key.cast<std::string>();
      targets[output] = to_target(value, output);
    }
    without_lock([&] {
      if (state != nullptr) return called.predict(given, state->state, targets);
      State own = called.make_state();
      called.predict(given, own, targets);
    });
    return out.cast<py::dict>();
  }

  const std::string path_, precision_;
  const int num_threads_;
  const std::string load_cache_;
  std::unique_ptr<Model> model_;
  std::mutex mutex_;  // of functions_
  std::map<std::string, std::unique_ptr<Function>> functions_;
};

// {"x": "float32 [1, 4]"}
py::dict described(const std::vector<FeatureInfo>& features) {
  py::dict result;
  for (const FeatureInfo& feature : features) {
    result[py::str(feature.name)] = to_string(feature);
  }
  return result;
}

py::dict metadata_of(const Model& model) {
  const ModelMetadata& metadata = model.metadata();
  py::dict result;
  result["specification_version"] = metadata.specification_version;
  result["short_description"] = metadata.short_description;
  result["version"] = metadata.version;
  result["author"] = metadata.author;
  result["license"] = metadata.license;
  result["user_defined"] = metadata.user_defined;
  return result;
}

std::vector<std::string> names_of(const PyState& state) {
  std::vector<std::string> names;
  for (const FeatureInfo& feature : state.state.features()) names.push_back(feature.name);
  return names;
}

}  // namespace

void bind_models(py::module_& module) {
  py::class_<PyState>(module, "State", docs::kState)
      .def(
          "__getitem__",
          [](PyState& state, const std::string& name) {
            const auto used = state.use();
            return to_object(state.state.get(name));
          },
          py::arg("name"), "A copy of the array.")
      .def(
          "__setitem__",
          [](PyState& state, const std::string& name, const py::object& array) {
            const Value value = to_value(array, name);
            const auto* tensor = std::get_if<Tensor>(&value);
            if (tensor == nullptr) fail(ErrorCode::InvalidArgument, "{}: expected an array", name);
            const auto used = state.use();
            state.state.set(name, *tensor);
          },
          py::arg("name"), py::arg("array"), "Copies an array in.")
      .def("keys", &names_of, "The names of the arrays.")
      .def("__iter__", [](const PyState& state) { return py::iter(py::cast(names_of(state))); })
      .def("__len__", [](const PyState& state) { return state.state.features().size(); })
      .def("__contains__",
           [](const PyState& state, const std::string& name) {
             for (const std::string& one : names_of(state)) {
               if (one == name) return true;
             }
             return false;
           })
      .def(
          "reset",
          [](PyState& state) {
            const auto used = state.use();
            state.state.reset();
          },
          "Back to zeros.");

  py::class_<PyModel>(module, "Model", docs::kModel)
      .def(py::init<const std::string&, const std::string&, int, const std::string&>(),
           py::arg("path"), py::kw_only(), py::arg("precision") = "fast",
           py::arg("num_threads") = 0, py::arg("load_cache") = "",
           "Opens a model. precision: \"fast\", \"exact\" (fp32) or \"reference\"; num_threads: 0 "
           "for one per core; load_cache: a folder that keeps converted weights.")
      .def("predict", &PyModel::predict, py::arg("inputs"), py::arg("state") = nullptr,
           py::kw_only(), py::arg("out") = py::none(), py::arg("function") = "",
           "Outputs by name. Arrays are read where they lie; with `out`, a dict of arrays, results "
           "are written there.")
      .def("make_state", &PyModel::make_state, py::arg("function") = "",
           "A state of zeros, for all functions or for one.")
      .def(
          "compile",
          [](const PyModel& model, const std::string& path) {
            without_lock([&] { model.model().compile(path); });
          },
          py::arg("path"), "Writes the model in the form of Core ML's compiler, an .mlmodelc.")
      .def_property_readonly(
          "functions", [](const PyModel& model) { return model.model().function_names(); },
          "The names of the functions.")
      .def_property_readonly(
          "default_function", [](const PyModel& model) { return model.model().default_function(); },
          "The name of the function that is meant where none is named.")
      .def_property_readonly(
          "metadata", [](const PyModel& model) { return metadata_of(model.model()); },
          "What the model says of itself; user_defined is a dict of its own keys.")
      .def(
          "inputs",
          [](PyModel& model, const std::string& function) {
            return described(model.function(function).inputs());
          },
          py::arg("function") = "", "What each input has to be, by name.")
      .def(
          "outputs",
          [](PyModel& model, const std::string& function) {
            return described(model.function(function).outputs());
          },
          py::arg("function") = "", "What each output is, by name.")
      .def(
          "states",
          [](PyModel& model, const std::string& function) {
            return described(model.function(function).states());
          },
          py::arg("function") = "", "What each state is, by name.")
      .def(
          "features",
          [](const PyModel& model, const std::string& name) {
            const Model& asked = model.model();
            return declared(asked.describe(name.empty() ? asked.default_function() : name));
          },
          py::arg("function") = "",
          "inputs, outputs and states: lists of dicts with name, description, kind, type, shape, "
          "ranges, enumerated_shapes, optional, default_value and color_space. Prepares nothing.")
      .def(py::pickle([](const PyModel& model) { return model.arguments(); },
                      [](const py::tuple& arguments) {
                        return std::make_unique<PyModel>(
                            arguments[0].cast<std::string>(), arguments[1].cast<std::string>(),
                            arguments[2].cast<int>(), arguments[3].cast<std::string>());
                      }));
}

}  // namespace pippin::python
