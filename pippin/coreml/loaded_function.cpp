#include "pippin/coreml/loaded_function.h"

#include "pippin/base/error.h"

namespace pippin::coreml {
namespace {

[[noreturn]] void fail_prediction(const std::string& name, const Trouble& trouble) {
  fail(ErrorCode::Device, "{}: Core ML's prediction failed: {}", name, trouble);
}

}  // namespace

std::vector<Output> LoadedFunction::predict(const Request& request) {
  const std::lock_guard lock(mutex_);
  std::vector<Output> outputs;
  const Trouble trouble = model_->predict(request, outputs);
  if (!trouble.empty()) fail_prediction(name(), trouble);
  return outputs;
}

std::vector<std::vector<Output>> LoadedFunction::predict_together(
    std::span<const Request> requests) {
  std::vector<std::vector<Output>> outputs(requests.size());
  std::vector<std::unique_ptr<Pending>> started;
  for (const Request& request : requests) {
    started.push_back(model_->start(request));
    if (started.back() != nullptr) continue;
    outputs[started.size() - 1] = predict(request);  // the system is older
  }
  for (size_t i = 0; i < started.size(); ++i) {
    if (started[i] == nullptr) continue;
    const Trouble trouble = started[i]->wait(outputs[i]);
    if (!trouble.empty()) fail_prediction(name(), trouble);
  }
  return outputs;
}

}  // namespace pippin::coreml
