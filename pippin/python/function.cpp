#include "pippin/python/function.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/api/device.h"
#include "pippin/base/error.h"
#include "pippin/python/bindings.h"
#include "pippin/python/buffers.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/features.h"
#include "pippin/python/interrupt.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

const FeatureInfo* find(const std::vector<FeatureInfo>& features, const std::string& name) {
  for (const FeatureInfo& feature : features) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

// Converts any mapping to a dict.
py::dict dict_of(py::handle mapping, const char* argument) {
  if (PyDict_Check(mapping.ptr()) != 0) return py::reinterpret_borrow<py::dict>(mapping);
  if (!py::hasattr(mapping, "keys") || !py::hasattr(mapping, "__getitem__")) {
    throw py::type_error(
        fmt::format("{}: expected a dict of values by name, not {}", argument, type_name(mapping)));
  }
  return py::dict(py::reinterpret_borrow<py::object>(mapping));
}

}  // namespace

Model ModelSource::load() const {
  LoadOptions options;
  options.num_threads = num_threads;
  options.load_cache = load_cache;
  set_backend(options, backend, compute_units);
  if (precision == "fast") {
    options.precision = Precision::Fast;
  } else if (precision == "reference") {
    options.precision = Precision::Reference;
  } else if (precision != "exact") {
    fail(ErrorCode::InvalidArgument, "precision: \"{}\" is not fast, exact or reference",
         precision);
  }
  const Unlocked unlocked;
  return Model::load(path, options);
}

py::tuple ModelSource::arguments() const {
  return py::make_tuple(path, precision, num_threads, load_cache, backend, compute_units);
}

ModelSource ModelSource::from(const py::tuple& arguments) {
  return {arguments[0].cast<std::string>(), arguments[1].cast<std::string>(),
          arguments[2].cast<int>(),         arguments[3].cast<std::string>(),
          arguments[4].cast<std::string>(), arguments[5].cast<std::string>()};
}

PyFunction::PyFunction(ModelSource source, Function function)
    : source_(std::move(source)), function_(std::move(function)) {}

const FeatureInfo* PyFunction::find_input(const std::string& name) const {
  return find(function().inputs(), name);
}

Values PyFunction::values_of(const py::handle& inputs, const char* argument) const {
  Values given;
  for (const auto& [key, value] : dict_of(inputs, argument)) {
    if (!py::isinstance<py::str>(key)) {
      fail(ErrorCode::InvalidArgument, "{}: the names of inputs are texts, not {}", argument,
           type_name(key));
    }
    const auto name = key.cast<std::string>();
    given.emplace(name, to_value(value, name, find_input(name)));
  }
  return given;
}

Values PyFunction::targets_of(const py::object& out) const {
  if (!py::isinstance<py::dict>(out)) {
    fail(ErrorCode::InvalidArgument, "out: expected a dict of arrays by name, not {}",
         type_name(out));
  }
  Values targets;
  for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(out)) {
    if (!py::isinstance<py::str>(key)) {
      fail(ErrorCode::InvalidArgument, "out: the names of outputs are texts, not {}",
           type_name(key));
    }
    const auto name = key.cast<std::string>();
    targets.emplace(name, to_target(value, name));
  }
  return targets;
}

py::dict PyFunction::results_of(Values results, const Forms& forms) const {
  py::dict result;
  for (auto& [name, value] : results) {
    result[py::str(name)] = to_object(std::move(value), find(function().outputs(), name), forms);
  }
  return result;
}

py::dict PyFunction::predict(const py::object& inputs, const py::object& state,
                             const py::object& out, const Forms& forms, const CancelToken* cancel) {
  const Values given = values_of(inputs, "inputs");
  PyState* const own = find_state(state);
  std::unique_lock<ForkMutex> lock;
  if (own != nullptr) lock = own->use();
  const auto run = [&](const auto& body) {
    run_call(cancel, [&] {
      if (own != nullptr) return body(own->state);
      State zeros = function_.make_state();
      body(zeros);
    });
  };
  if (!out.is_none()) {
    Values targets = targets_of(out);
    run([&](State& used) { function_.predict(given, used, targets); });
    return out;
  }
  Values results;
  run([&](State& used) { results = function_.predict(given, used); });
  return results_of(std::move(results), forms);
}

py::list PyFunction::predict_batch(const py::object& batch, const Forms& forms,
                                   const CancelToken* cancel) {
  if (py::isinstance<py::dict>(batch) || !py::isinstance<py::iterable>(batch)) {
    throw py::type_error("batch: expected a list of dicts, not " + type_name(batch));
  }
  std::vector<Values> given, results;
  for (const py::handle item : batch) {
    const std::string place = fmt::format("batch[{}]", given.size());
    given.push_back(with_context(place, [&] { return values_of(item, place.c_str()); }));
  }
  run_call(cancel, [&] {
    for (const Values& one : given) {
      results.push_back(with_context(fmt::format("batch[{}]", results.size()),
                                     [&] { return function_.predict(one); }));
    }
  });
  py::list outputs;
  for (Values& one : results) outputs.append(results_of(std::move(one), forms));
  return outputs;
}

py::object start(const py::object& owner, const py::object& inputs, const py::object& state,
                 const py::dict& options) {
  return py::module_::import("pippin._async").attr("predict")(owner, inputs, state, **options);
}

void bind_functions(py::module_& module) {
  py::class_<CancelToken, std::shared_ptr<CancelToken>>(module, "CancelToken", docs::kCancelToken)
      .def(py::init<>())
      .def("request", &CancelToken::request, "Ends calls that have this token with CancelledError.")
      .def("reset", &CancelToken::reset, "Makes the token ready for other calls.")
      .def_property_readonly("requested", &CancelToken::is_requested,
                             "Whether request() was called.");

  const auto features = [](const std::vector<FeatureInfo>& (Function::*of)() const) {
    return [of](const PyFunction& self) { return features_by_name((self.function().*of)()); };
  };
  py::class_<PyFunction, std::shared_ptr<PyFunction>>(module, "Function", docs::kFunction)
      .def_property_readonly(
          "name", [](const PyFunction& self) { return self.function().name(); },
          "Its name in the model.")
      .def_property_readonly("inputs", features(&Function::inputs),
                             "The declared inputs: FeatureInfo by name.")
      .def_property_readonly("outputs", features(&Function::outputs),
                             "The declared outputs: FeatureInfo by name.")
      .def_property_readonly("states", features(&Function::states),
                             "The declared states: FeatureInfo by name.")
      .def(
          "predict",
          [](PyFunction& self, const py::object& inputs, const py::object& state,
             const py::object& out, bool as_tensors, bool as_pictures, const CancelToken* cancel) {
            return self.predict(inputs, state, out, {as_tensors, as_pictures}, cancel);
          },
          py::arg("inputs"), py::arg("state") = py::none(), py::kw_only(),
          py::arg("out") = py::none(), py::arg("as_tensors") = false,
          py::arg("as_pictures") = false, py::arg("cancel") = py::none(),
          "Returns the outputs by name, in the declared types, a scalar as (1,): NumPy arrays, "
          "Tensors with as_tensors, and PIL images with as_pictures where an image is declared. "
          "Inputs are read in place. With `out`, a dict of arrays, the outputs named there are "
          "written into them, and `out` is returned. Raises InvalidArgumentError for inputs, "
          "states and targets that are not as declared, LimitExceededError, CancelledError, "
          "DeviceError, and InvalidFileError if an operation rejects its data.")
      .def(
          "predict_batch",
          [](PyFunction& self, const py::object& batch, bool as_tensors, bool as_pictures,
             const CancelToken* cancel) {
            return self.predict_batch(batch, {as_tensors, as_pictures}, cancel);
          },
          py::arg("batch"), py::kw_only(), py::arg("as_tensors") = false,
          py::arg("as_pictures") = false, py::arg("cancel") = py::none(),
          "Returns the outputs of each dict of inputs, one after the other. Raises the errors of "
          "predict(), with the position in the batch.")
      .def(
          "predict_async",
          [](const py::object& self, const py::object& inputs, const py::object& state,
             const py::object& out, bool as_tensors, bool as_pictures) {
            return start(self, inputs, state,
                         py::dict(py::arg("out") = out, py::arg("as_tensors") = as_tensors,
                                  py::arg("as_pictures") = as_pictures));
          },
          py::arg("inputs"), py::arg("state") = py::none(), py::kw_only(),
          py::arg("out") = py::none(), py::arg("as_tensors") = false,
          py::arg("as_pictures") = false,
          "Awaits predict() in a thread, and raises its errors. A task that is cancelled cancels "
          "the prediction, and ends when that has ended.")
      .def(
          "make_state",
          [](const PyFunction& self) {
            return std::make_unique<PyState>(self.function().make_state());
          },
          "Returns a new state, all zeros. Raises LimitExceededError.")
      .def("__repr__",
           [](const PyFunction& self) {
             return fmt::format("Function({} of {})", self.function().name(), self.source().path);
           })
      .def(py::pickle(
          [](const PyFunction& self) {
            return py::make_tuple(self.source().arguments(), self.function().name());
          },
          [](const py::tuple& parts) {
            ModelSource source = ModelSource::from(parts[0].cast<py::tuple>());
            const auto name = parts[1].cast<std::string>();
            const Model model = source.load();
            const Unlocked unlocked;
            return std::make_shared<PyFunction>(std::move(source), model.function(name));
          }));
}

}  // namespace pippin::python
