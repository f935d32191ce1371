// A device that computes programs: the CPU, or an accelerator that takes whole functions.
//
// The layers above see a device only through its products: a Plan per function and shape class, the
// memory of States, a Runner. It is passed down in ComputeOptions, chosen by the code that opens a
// model. A device rejects unsupported operations when a plan is made (Unsupported, with the
// operation's name); no work moves to another device silently.
//
// Several threads make its plans and run their executions at the same time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/engine/plan.h"
#include "pippin/engine/runner.h"

namespace pippin::engine {

class Device {
 public:
  virtual ~Device() = default;

  virtual const std::string& name() const = 0;  // "cpu"

  // Like Plan::make(), State's constructor and Runner::make() (whose options name this device, or
  // none for the CPU). The names of the states are distinct.
  virtual std::shared_ptr<const Plan> make_plan(const mil::Model& model, std::string_view function,
                                                const PlanOptions& options) = 0;
  virtual std::unique_ptr<StateMemory> make_state(const std::vector<mil::Feature>& states) = 0;
  // By default, by plans of the whole function.
  virtual std::unique_ptr<Runner> make_runner(const mil::Model& model, std::string_view function,
                                              ThreadPool& pool, const RunnerOptions& options);
};

// The device of the options, or the CPU.
Device& device_of(const ComputeOptions& compute);

}  // namespace pippin::engine
