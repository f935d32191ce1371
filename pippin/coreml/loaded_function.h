// A function loaded by Core ML, shared by the plans of all its shape classes.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "pippin/coreml/compiled_models.h"
#include "pippin/coreml/core_model.h"

namespace pippin::coreml {

class LoadedFunction {
 public:
  LoadedFunction(Framework& framework, std::shared_ptr<const CompiledModel> compiled,
                 std::unique_ptr<CoreModel> model)
      : framework_(framework), compiled_(std::move(compiled)), model_(std::move(model)) {}

  Framework& framework() const { return framework_; }
  CoreModel& model() const { return *model_; }
  const std::string& name() const { return compiled_->name; }

  // One at a time, for all callers. Throws Device.
  std::vector<Output> predict(const Request& request);
  // All at once if the system supports it; outputs are in the order of the requests.
  std::vector<std::vector<Output>> predict_together(std::span<const Request> requests);

 private:
  Framework& framework_;
  std::shared_ptr<const CompiledModel> compiled_;
  std::unique_ptr<CoreModel> model_;
  std::mutex mutex_;
};

}  // namespace pippin::coreml
