#include "pippin/coreml/loaded_function.h"

#include "pippin/base/error.h"

namespace pippin::coreml {
namespace {

[[noreturn]] void fail_prediction(const std::string& name, const ErrorText& error_text) {
  fail(ErrorCode::Device, "{}: Core ML's prediction failed: {}", name, error_text);
}

}  // namespace

std::vector<Output> LoadedFunction::predict(const Request& request) {
  const std::lock_guard lock(mutex_);
  std::vector<Output> outputs;
  const ErrorText error_text = model_->predict(request, outputs);
  if (!error_text.empty()) fail_prediction(name(), error_text);
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
    const ErrorText error_text = started[i]->wait(outputs[i]);
    if (!error_text.empty()) fail_prediction(name(), error_text);
  }
  return outputs;
}

}  // namespace pippin::coreml
