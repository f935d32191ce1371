// Goldens of models that recognize speech, programs that run on them, and changed checkpoints.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/families/speech.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/npz.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mil/check/verify.h"
#include "pippin/models/speech/speech_model.h"
#include "pippin/runtime/speech/ctc_decoding.h"
#include "pippin/runtime/speech/speech_recognizer.h"

namespace pippin::testing_speech {

namespace speech = families::speech;
using models::BuildOptions;
using runtime::SpeechRecognizer;
using runtime::SpeechToken;

struct Golden {
  NpzFile npz;
  std::string input;
  std::vector<int64_t> dims;  // of the input
  std::vector<float> values;

  // Without the rows that the extractor marks as padding.
  explicit Golden(const std::filesystem::path& folder) : npz(NpzFile::open(folder / "golden.npz")) {
    input = npz.contains("feat_input_values") ? speech::kWaveform : speech::kFeatures;
    const NpyArray all = npz.read("feat_" + input);
    for (const uint64_t size : all.shape) dims.push_back(static_cast<int64_t>(size));
    if (npz.contains("feat_attention_mask")) {
      const std::vector<int64_t> mask = ints("feat_attention_mask");
      dims[1] = std::count(mask.begin(), mask.end(), 1);
    }
    const int64_t row = dims.size() == 3 ? dims[2] : 1;
    const auto begin = all.as<float>().begin();
    values.assign(begin, begin + dims[1] * row);
  }
  std::vector<double> doubles(const std::string& name) const { return npz.read(name).to_doubles(); }
  std::vector<int64_t> ints(const std::string& name) const {
    std::vector<int64_t> result;
    for (const double value : doubles(name)) result.push_back(static_cast<int64_t>(value));
    return result;
  }
};

inline engine::HostTensor tensor(mil::DataType type, std::vector<int64_t> dims, const void* data,
                                 size_t bytes) {
  engine::HostTensor result{type, std::move(dims), {}, {}, {}, {}};
  result.bytes.resize(bytes);
  std::memcpy(result.bytes.data(), data, bytes);
  return result;
}

inline engine::HostTensor floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return tensor(mil::DataType::Float32, std::move(dims), values.data(),
                values.size() * sizeof(float));
}

inline std::vector<float> to_floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return worst;
}

// A program, whose functions run one by one.
class Program {
 public:
  explicit Program(mil::Model model)
      : model_(std::make_shared<const mil::Model>(std::move(model))),
        pool_(std::make_shared<ThreadPool>(1)) {
    mil::verify(model_->program);
  }

  using Values = std::map<std::string, std::vector<double>>;
  Values run(const char* function, const engine::NamedHostTensors& inputs) {
    auto& runner = runners_[function];
    if (runner == nullptr) {
      runner = engine::Runner::make(*model_, function, *pool_, {.compute = compute_});
    }
    engine::State state(std::vector<mil::Feature>{});
    Values values;
    for (const auto& [name, output] : runner->run(inputs, state)) {
      values[name] = engine::to_tensor(output).values;
    }
    return values;
  }
  Values run(const char* function, const Golden& golden) {
    engine::NamedHostTensors inputs;
    inputs.emplace(golden.input, floats(golden.dims, golden.values));
    return run(function, inputs);
  }
  SpeechRecognizer recognizer() const { return SpeechRecognizer(model_, pool_, compute_); }

 private:
  std::shared_ptr<const mil::Model> model_;
  std::shared_ptr<ThreadPool> pool_;
  engine::ComputeOptions compute_{.precision = engine::Precision::Exact};
  std::map<std::string, std::unique_ptr<engine::Runner>> runners_;
};

inline Program from_folder(const std::filesystem::path& folder) {
  return Program(models::build_speech(folder, {.compute = BuildOptions::Compute::Float32Direct}));
}

// Tokens with ids and frames alone.
inline std::vector<SpeechToken> without_probabilities(std::vector<SpeechToken> tokens) {
  for (SpeechToken& token : tokens) {
    EXPECT_GT(token.probability, 0);
    EXPECT_LE(token.probability, 1);
    token.probability = 0;
  }
  return tokens;
}

// The tokens that decoding finds for the golden's best ids.
inline std::vector<SpeechToken> decoded(const std::vector<int64_t>& best, int64_t vocab_size,
                                        int32_t blank) {
  std::vector<float> logits(best.size() * static_cast<size_t>(vocab_size));
  for (size_t i = 0; i < best.size(); ++i) {
    logits[i * static_cast<size_t>(vocab_size) + static_cast<size_t>(best[i])] = 9;
  }
  return without_probabilities(runtime::decode_ctc(logits, vocab_size, blank));
}

// The root of the mean square, at least 1.
inline double scale_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::max(1.0, std::sqrt(sum / static_cast<double>(values.size())));
}

inline void expect_ctc(Program program, const Golden& golden, double tolerance) {
  const auto outputs = program.run("main", golden);
  for (const auto& [name, expected] :
       {std::pair{speech::kStates, golden.doubles("encoder_last_hidden_state")},
        std::pair{speech::kLogits, golden.doubles("logits")}}) {
    // Rounded weights have errors in proportion.
    const double scale = tolerance > 1e-4 ? scale_of(expected) : 1.0;
    EXPECT_LE(difference(outputs.at(name), expected), tolerance * scale) << name;
  }
  SpeechRecognizer recognizer = program.recognizer();
  const std::vector<int64_t> best = golden.ints("argmax");
  const std::vector<float> logits = to_floats(outputs.at(speech::kLogits));
  const auto width = static_cast<size_t>(recognizer.vocab_size());
  for (size_t i = 0; i < best.size(); ++i) {
    const auto row = std::span(logits).subspan(i * width, width);
    ASSERT_EQ(runtime::best_score(row).index, best[i]) << "frame " << i;
  }
  EXPECT_EQ(without_probabilities(recognizer.recognize(golden.values)),
            decoded(best, recognizer.vocab_size(), recognizer.blank()));
}

// A copy of the folder's model with other tensors: what `change` makes of each.
using Tensor = std::pair<SafetensorsWriter::Declaration, std::vector<float>>;
inline void write_changed(const std::filesystem::path& folder, const std::filesystem::path& to,
                          const std::function<std::vector<Tensor>(const TensorInfo&)>& change) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  std::vector<Tensor> tensors;
  for (const std::string& name : checkpoint.names()) {
    for (Tensor& tensor : change(checkpoint.at(name))) tensors.push_back(std::move(tensor));
  }
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const Tensor& tensor : tensors) declarations.push_back(tensor.first);
  SafetensorsWriter writer(to / "model.safetensors", declarations);
  for (const Tensor& tensor : tensors) writer.append(std::as_bytes(std::span(tensor.second)));
  writer.finish();
}

// Of an F32 or BF16 tensor.
inline std::vector<float> values_of(const TensorInfo& tensor) {
  const bool is_narrow = tensor.dtype == Dtype::BF16;
  const size_t size = is_narrow ? 2 : 4;
  std::vector<float> values(tensor.bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + i * size, size);
    values[i] = std::bit_cast<float>(is_narrow ? bits << 16 : bits);
  }
  return values;
}

}  // namespace pippin::testing_speech
