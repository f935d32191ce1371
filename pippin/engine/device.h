// Where programs are computed: the CPU, or an accelerator that takes functions as a whole.
//
// The layers above know a device by what it makes: a Plan per function and shape class, the memory
// of States, a Runner. It is handed down in ComputeOptions, chosen by the code that opens a model.
// What a device cannot compute it refuses when a plan is made (Unsupported, with the operation's
// name); nothing moves to another device behind the caller's back.
//
// Its plans are made, and their executions run, by several threads at the same time.
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

  // As Plan::make(), State's constructor and Runner::make() (whose options name this device, or
  // none for the CPU). The states' names differ.
  virtual std::shared_ptr<const Plan> make_plan(const mil::Model& model, std::string_view function,
                                                const PlanOptions& options) = 0;
  virtual std::unique_ptr<StateMemory> make_state(const std::vector<mil::Feature>& states) = 0;
  // By plans of the whole function, unless a device knows better.
  virtual std::unique_ptr<Runner> make_runner(const mil::Model& model, std::string_view function,
                                              ThreadPool& pool, const RunnerOptions& options);
};

// That of the options, or the CPU.
Device& device_of(const ComputeOptions& compute);

}  // namespace pippin::engine
