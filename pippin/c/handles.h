// The definitions of pippin.h's objects.
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
#include "pippin/api/transcriber.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/c/pippin.h"

struct pippin_cancel {
  pippin::CancelToken token;
};

struct pippin_options {
  pippin::LoadOptions model;
  std::string backend = "cpu", compute_units;
  pippin::LanguageModelOptions
      language;               // shared settings come from the model's options, except `precision`
  pippin::TextSettings text;  // without sampling
  pippin::speech::TranscribeOptions transcription;  // without temperatures
  std::string vad;                                  // a model of voice for transcribers
  double temperature = 0, temperature_increment = 0.2;
  // Changes to the model's own settings.
  std::vector<std::function<void(pippin::SamplingOptions&)>> sampling;
};

// The tensor owns no elements except strings: copies share them.
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
  std::function<pippin::State()> make;  // makes another one
  std::vector<pippin_feature> features;
};

struct pippin_call {
  std::shared_ptr<const pippin::Function> function;
  pippin::Values inputs, outputs;  // as set by the caller
  std::shared_ptr<pippin::State> state;
  std::optional<pippin::Call> prepared;  // with these outputs
  pippin::Values results;                // of a run without prepared outputs
  std::atomic<bool> is_used{false};
};

struct pippin_transcriber {
  pippin::Transcriber model;
};

struct pippin_language_model {
  pippin::LanguageModel model;
  std::vector<int32_t> ends;
};

namespace pippin::c {

LoadOptions model_options(const pippin_options* options);  // all of these accept null
LanguageModelOptions language_options(const pippin_options* options);
TranscriberOptions transcriber_options(const pippin_options* options);
speech::TranscribeOptions transcription_options(const pippin_options* options);
SamplingOptions sampling_options(const LanguageModel& model, const pippin_options* options);

std::unique_ptr<pippin_tensor> tensor_handle(Tensor tensor);
// Copies `rank` sizes. Throws InvalidArgument.
std::vector<int64_t> sizes(int32_t rank, const int64_t* values, const char* name);
// Like Tensor::wrap(): after an error, `release` is not called.
template <typename Data>
std::unique_ptr<pippin_tensor> wrapped_tensor(DataType type, const std::vector<int64_t>& shape,
                                              const std::vector<int64_t>& strides, Data* data,
                                              std::function<void()> release) {
  auto handle = std::make_unique<pippin_tensor>();
  // Everything that can fail precedes the transfer of `release`.
  handle->strides = Tensor::wrap(type, shape, data, strides).strides();
  handle->tensor = Tensor::wrap(type, shape, data, strides, std::move(release));
  return handle;
}
std::vector<pippin_feature> feature_handles(const std::vector<FeatureInfo>& features);
// The model's metadata by key, as far as present.
std::map<std::string, std::string, std::less<>> metadata_of(const Model& model);

}  // namespace pippin::c
