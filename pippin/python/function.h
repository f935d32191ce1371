// pippin.Function: one function of a model, ready to predict.
#pragma once

#include <memory>
#include <string>

#include <pybind11/pybind11.h>

#include "pippin/base/threads/cancel.h"
#include "pippin/python/arrays.h"
#include "pippin/python/state.h"

namespace pippin::python {

// The arguments for opening a model again.
struct ModelSource {
  std::string path, precision;
  int num_threads = 0;
  std::string load_cache;
  std::string backend = "cpu", compute_units;

  Model load() const;  // without the GIL
  pybind11::tuple arguments() const;
  static ModelSource from(const pybind11::tuple& arguments);
};

class PyFunction {
 public:
  PyFunction(ModelSource source, Function function);

  const Function& function() const { return function_; }
  const ModelSource& source() const { return source_; }

  // Returns outputs by name, or fills `out`. Needs the GIL, which is released while the model runs.
  pybind11::dict predict(const pybind11::object& inputs, const pybind11::object& state,
                         const pybind11::object& out, const Forms& forms,
                         const CancelToken* cancel);
  // Runs the inputs one after the other, without the GIL, each with a new state.
  pybind11::list predict_batch(const pybind11::object& batch, const Forms& forms,
                               const CancelToken* cancel);

 private:
  const FeatureInfo* find_input(const std::string& name) const;
  Values values_of(const pybind11::handle& inputs, const char* argument) const;
  Values targets_of(const pybind11::object& out) const;
  pybind11::dict results_of(Values results, const Forms& forms) const;

  const ModelSource source_;
  const Function function_;
};

// Starts the awaitable of predict_async(): pippin/_async.py.
pybind11::object start(const pybind11::object& owner, const pybind11::object& inputs,
                       const pybind11::object& state, const pybind11::dict& options);

}  // namespace pippin::python
