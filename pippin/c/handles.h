// What the objects of pippin.h are.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/api/llm.h"
#include "pippin/api/model.h"
#include "pippin/base/cancel.h"
#include "pippin/c/pippin.h"

struct pippin_cancel {
  pippin::CancelToken token;
};

struct pippin_options {
  pippin::LoadOptions model;
  std::string backend = "cpu", compute_units;
  pippin::LanguageModelOptions language;  // without what models have, too, but for `precision`
  pippin::TextSettings text;              // without sampling
  // What is other than the model's own.
  std::vector<std::function<void(pippin::SamplingOptions&)>> sampling;
};

// The tensor owns no elements of its own but strings: copies share them.
struct pippin_tensor {
  pippin::Tensor tensor;
  std::vector<int64_t> strides;
};

struct pippin_feature {
  pippin::FeatureInfo info;
  std::string text;
};

struct pippin_model {
  std::shared_ptr<const pippin::Model> model;
  std::vector<std::string> functions;
  std::map<std::string, std::string, std::less<>> metadata;
};

struct pippin_function {
  std::shared_ptr<const pippin::Function> function;
  std::vector<pippin_feature> features[3];  // by role
};

struct pippin_state {
  std::shared_ptr<pippin::State> state;
  std::function<pippin::State()> make;  // another one
  std::vector<pippin_feature> features;
};

struct pippin_call {
  std::shared_ptr<const pippin::Function> function;
  pippin::Values inputs, outputs;  // that were set
  std::shared_ptr<pippin::State> state;
  std::optional<pippin::Call> prepared;  // with these outputs
  pippin::Values results;                // of a run with none
  std::atomic<bool> is_used{false};
};

struct pippin_language_model {
  pippin::LanguageModel model;
  std::vector<int32_t> ends;
};

namespace pippin::c {

LoadOptions model_options(const pippin_options* options);  // may be null, all of these
LanguageModelOptions language_options(const pippin_options* options);
SamplingOptions sampling_options(const LanguageModel& model, const pippin_options* options);

std::unique_ptr<pippin_tensor> tensor_handle(Tensor tensor);
// `rank` of them. Throws InvalidArgument.
std::vector<int64_t> sizes(int32_t rank, const int64_t* values, const char* name);
// As Tensor::wrap(): after an error `release` is not called.
template <typename Data>
std::unique_ptr<pippin_tensor> wrapped_tensor(DataType type, const std::vector<int64_t>& shape,
                                              const std::vector<int64_t>& strides, Data* data,
                                              std::function<void()> release) {
  auto handle = std::make_unique<pippin_tensor>();
  // All that can fail comes before the tensor has what calls `release`.
  handle->strides = Tensor::wrap(type, shape, data, strides).strides();
  handle->tensor = Tensor::wrap(type, shape, data, strides, std::move(release));
  return handle;
}
std::vector<pippin_feature> feature_handles(const std::vector<FeatureInfo>& features);
// What the model says of itself, by key, as far as it does.
std::map<std::string, std::string, std::less<>> metadata_of(const Model& model);

}  // namespace pippin::c
