// Runs a function of any program on whole tensors that are passed and returned by name: the basis
// of prediction. (Language models, which run the same few shapes repeatedly, use engine/plan.h
// themselves.)
//
// Operations that depend only on shapes and small integers are planned, for the shapes of each
// call, and the plans are kept for later calls; the others (control flow, lists, sizes that depend
// on data) run operation by operation between the plans.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/host_tensor.h"
#include "pippin/engine/plan.h"
#include "pippin/mil/model.h"

namespace pippin::engine {

struct RunnerOptions {
  ComputeOptions compute = {};
  // Beyond these a run ends with LimitExceeded.
  int64_t max_elements = int64_t{1} << 31;  // of one value
  int64_t max_iterations = 10'000'000;      // of all while_loops of a run together
  bool trace = false;                       // keep the text for describe()
};

using NamedHostTensors = std::map<std::string, HostTensor, std::less<>>;

class Runner {
 public:
  // On the device of the options. Throws Unsupported (an op, named with its value and opset),
  // InvalidFile (an inconsistent program), NotFound. `model` and `pool` must outlive the runner.
  static std::unique_ptr<Runner> make(const mil::Model& model, std::string_view function,
                                      ThreadPool& pool, const RunnerOptions& options = {});
  virtual ~Runner() = default;

  // The function's outputs, in the types that the program declares. Inputs are converted to the
  // program's types; [1] stands for a scalar. The values of `state` change. One call at a time.
  // Throws InvalidArgument for inputs that are missing or that the program's shapes do not allow,
  // InvalidFile if an operation rejects its data (an index out of range), LimitExceeded, Cancelled.
  virtual NamedHostTensors run(const NamedHostTensors& inputs, State& state) = 0;

  // The steps of the last run, one line per step of a plan or interpreted operation; for --verbose
  // and tests. Empty without RunnerOptions::trace.
  virtual std::string describe() const = 0;
};

}  // namespace pippin::engine
