// Changed checkpoints of models that recognize speech: other names and forms of the same numbers,
// and parts that the goldens lack.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "tests/speech_testing.h"

namespace pippin {
namespace {

using namespace testing_speech;

TEST(ChangedSpeech, ReadsTheOlderNamesOfNormalizedWeights) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/wav2vec2_base");
  const TempDir older;
  std::filesystem::copy_file(folder / "config.json", older / "config.json");
  write_changed(folder, older.path(), [](const TensorInfo& tensor) -> std::vector<Tensor> {
    std::string name = tensor.name;
    for (const auto& [now, then] : {std::pair{"parametrizations.weight.original0", "weight_g"},
                                    std::pair{"parametrizations.weight.original1", "weight_v"}}) {
      const size_t place = name.find(now);
      if (place != name.npos) name.replace(place, std::string(now).size(), then);
    }
    return {{{name, tensor.dtype, tensor.shape}, values_of(tensor)}};
  });
  expect_ctc(from_folder(older.path()), Golden(folder), 1e-4);
}

// With a batch norm that only doubles, and half of the convolution's weights.
TEST(ChangedSpeech, NormalizesChannelsBeforePositions) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/wav2vec2_base");
  const TempDir changed;
  std::string config = read_file(folder / "config.json");
  const std::string type = "\"model_type\": \"wav2vec2\"";
  config.replace(config.find(type), type.size(),
                 "\"model_type\": \"hubert\", \"conv_pos_batch_norm\": true");
  const std::string name = "\"Wav2Vec2ForCTC\"";
  config.replace(config.find(name), name.size(), "\"HubertForCTC\"");
  write_file(changed / "config.json", config);
  std::vector<float> lengths;
  write_changed(folder, changed.path(), [&](const TensorInfo& tensor) -> std::vector<Tensor> {
    std::string renamed = tensor.name;
    if (renamed.starts_with("wav2vec2.")) renamed.replace(0, 8, "hubert");
    std::vector<float> values = values_of(tensor);
    const std::string path = "hubert.encoder.pos_conv_embed.";
    if (renamed.ends_with("original0")) {
      lengths = values;
      std::vector<Tensor> norm;
      // 4 * (x - 0.5) / 2 + 1 is 2 * x.
      for (const auto& [part, value] :
           {std::pair{"weight", 4.0f}, std::pair{"bias", 1.0f}, std::pair{"running_mean", 0.5f},
            std::pair{"running_var", 4.0f - 1e-5f}}) {
        norm.push_back(
            {{path + "batch_norm." + part, Dtype::F32, {32}}, std::vector<float>(32, value)});
      }
      return norm;
    }
    if (renamed.ends_with("original1")) {
      std::vector<double> squares(32);
      for (size_t i = 0; i < values.size(); ++i) {
        squares[i % 32] += double{values[i]} * double{values[i]};
      }
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] *= static_cast<float>(lengths[i % 32] / std::sqrt(squares[i % 32]) / 2);
      }
      renamed = path + "conv.weight";
    }
    return {{{renamed, tensor.dtype, tensor.shape}, values}};
  });
  expect_ctc(from_folder(changed.path()), Golden(folder), 1e-4);
}

// Adapters whose first matrix is zero give the same vector for each frame, which the layer before
// lacks.
TEST(ChangedSpeech, AddsAdaptersOfALanguage) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/hubert");
  const TempDir changed;
  const std::string config = read_file(folder / "config.json");
  write_file(changed / "config.json", "{\"adapter_attn_dim\": 3, " + config.substr(1));
  constexpr size_t kWidth = 32;
  write_changed(folder, changed.path(), [&](const TensorInfo& tensor) -> std::vector<Tensor> {
    std::vector<float> values = values_of(tensor);
    std::vector<Tensor> tensors;
    const std::string end = ".feed_forward.output_dense.bias";
    if (tensor.name.ends_with(end)) {
      const std::string layer = tensor.name.substr(0, tensor.name.size() - end.size());
      const std::vector<float> hidden = {0.5f, -2.0f, 1.0f};  // before the activation
      std::vector<float> matrix(kWidth * 3), bias(kWidth);
      for (size_t i = 0; i < kWidth; ++i) {
        bias[i] = 0.25f;
        matrix[3 * i] = static_cast<float>(i % 5);
        matrix[3 * i + 1] = 7;
        matrix[3 * i + 2] = static_cast<float>(i % 3);
        values[i] -= matrix[3 * i] * 0.5f + matrix[3 * i + 2] + bias[i];
      }
      const std::string path = layer + ".adapter_layer.";
      const int64_t width = kWidth;
      tensors = {
          {{path + "norm.weight", Dtype::F32, {width}}, std::vector<float>(kWidth, 1)},
          {{path + "norm.bias", Dtype::F32, {width}}, std::vector<float>(kWidth)},
          {{path + "linear_1.weight", Dtype::F32, {3, width}}, std::vector<float>(3 * kWidth)},
          {{path + "linear_1.bias", Dtype::F32, {3}}, hidden},
          {{path + "linear_2.weight", Dtype::F32, {width, 3}}, matrix},
          {{path + "linear_2.bias", Dtype::F32, {width}}, bias}};
    }
    tensors.push_back({{tensor.name, Dtype::F32, tensor.shape}, values});
    return tensors;
  });
  expect_ctc(from_folder(changed.path()), Golden(folder), 1e-4);
}

// Rows of numbers, and the operations of an adapter on them, as loops.
struct Rows {
  int64_t count = 0, width = 0;
  std::vector<double> values;

  double& at(int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * width + column)];
  }
  double at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * width + column)];
  }
};

Rows zeros(int64_t count, int64_t width) {
  return {count, width, std::vector<double>(static_cast<size_t>(count * width))};
}

// Random tensors by name below a path, which loops and the checkpoint share.
class Weights {
 public:
  explicit Weights(std::string path) : path_(std::move(path)) {}

  const std::vector<float>& get(const std::string& name, const std::vector<int64_t>& dims) {
    auto& tensor = tensors_[path_ + name];
    if (!tensor.second.empty()) return tensor.second;
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    tensor.first = {path_ + name, Dtype::F32, dims};
    std::normal_distribution<float> normal(0, 0.3f);
    for (int64_t i = 0; i < count; ++i) tensor.second.push_back(normal(random_));
    return tensor.second;
  }
  std::vector<Tensor> all() const {
    std::vector<Tensor> result;
    for (const auto& [name, tensor] : tensors_) result.push_back(tensor);
    return result;
  }

 private:
  std::string path_;
  std::mt19937 random_{3};
  std::map<std::string, Tensor> tensors_;
};

Rows linear(Weights& weights, const std::string& name, const Rows& x, int64_t width) {
  const auto& weight = weights.get(name + ".weight", {width, x.width});
  const auto& bias = weights.get(name + ".bias", {width});
  Rows y = zeros(x.count, width);
  for (int64_t row = 0; row < x.count; ++row) {
    for (int64_t out = 0; out < width; ++out) {
      double sum = bias[static_cast<size_t>(out)];
      for (int64_t in = 0; in < x.width; ++in) {
        sum += x.at(row, in) * double{weight[static_cast<size_t>(out * x.width + in)]};
      }
      y.at(row, out) = sum;
    }
  }
  return y;
}

Rows norm(Weights& weights, const std::string& name, Rows x) {
  const auto& weight = weights.get(name + ".weight", {x.width});
  const auto& bias = weights.get(name + ".bias", {x.width});
  for (int64_t row = 0; row < x.count; ++row) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < x.width; ++i) mean += x.at(row, i) / static_cast<double>(x.width);
    for (int64_t i = 0; i < x.width; ++i) {
      variance += std::pow(x.at(row, i) - mean, 2) / static_cast<double>(x.width);
    }
    for (int64_t i = 0; i < x.width; ++i) {
      const auto k = static_cast<size_t>(i);
      x.at(row, i) =
          (x.at(row, i) - mean) / std::sqrt(variance + 1e-5) * double{weight[k]} + double{bias[k]};
    }
  }
  return x;
}

// A convolution of 3 taps with step 2 and a zero on each side, whose second half gates the first.
Rows join_frames(Weights& weights, const std::string& name, const Rows& x) {
  const int64_t width = x.width, count = (x.count + 2 - 3) / 2 + 1;
  const auto& weight = weights.get(name + ".weight", {2 * width, width, 3});
  const auto& bias = weights.get(name + ".bias", {2 * width});
  Rows y = zeros(count, width);
  for (int64_t row = 0; row < count; ++row) {
    std::vector<double> both(bias.begin(), bias.end());
    for (int64_t out = 0; out < 2 * width; ++out) {
      for (int64_t tap = 0; tap < 3; ++tap) {
        const int64_t from = 2 * row + tap - 1;
        if (from < 0 || from >= x.count) continue;
        for (int64_t in = 0; in < width; ++in) {
          both[static_cast<size_t>(out)] +=
              x.at(from, in) * double{weight[static_cast<size_t>((out * width + in) * 3 + tap)]};
        }
      }
    }
    for (int64_t i = 0; i < width; ++i) {
      const double gate = both[static_cast<size_t>(width + i)];
      y.at(row, i) = both[static_cast<size_t>(i)] / (1 + std::exp(-gate));
    }
  }
  return y;
}

Rows attend(Weights& weights, const std::string& name, const Rows& x, int64_t heads) {
  const int64_t size = x.width / heads;
  const Rows q = linear(weights, name + ".linear_q", x, x.width);
  const Rows k = linear(weights, name + ".linear_k", x, x.width);
  const Rows v = linear(weights, name + ".linear_v", x, x.width);
  Rows y = zeros(x.count, x.width);
  for (int64_t row = 0; row < x.count; ++row) {
    for (int64_t head = 0; head < heads; ++head) {
      std::vector<double> scores;
      double sum = 0;
      for (int64_t key = 0; key < x.count; ++key) {
        double score = 0;
        for (int64_t i = head * size; i < (head + 1) * size; ++i)
          score += q.at(row, i) * k.at(key, i);
        scores.push_back(std::exp(score / std::sqrt(static_cast<double>(size))));
        sum += scores.back();
      }
      for (int64_t key = 0; key < x.count; ++key) {
        for (int64_t i = head * size; i < (head + 1) * size; ++i) {
          y.at(row, i) += scores[static_cast<size_t>(key)] / sum * v.at(key, i);
        }
      }
    }
  }
  return linear(weights, name + ".linear_out", y, x.width);
}

Rows feed(Weights& weights, const std::string& name, const Rows& x, int64_t hidden) {
  Rows inner = linear(weights, name + ".intermediate_dense", x, hidden);
  for (double& value : inner.values) value = std::max(value, 0.0);
  return linear(weights, name + ".output_dense", inner, x.width);
}

Rows sum_of(const Rows& x, const Rows& y, double scale = 1) {
  Rows result = x;
  for (size_t i = 0; i < x.values.size(); ++i) result.values[i] += y.values[i] * scale;
  return result;
}

// The layers after w2v-BERT's encoder, of which the golden has none, by loops over its states.
TEST(ChangedSpeech, JoinsFramesByAnAdapter) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/speech/wav2vec2_bert");
  const Golden golden(folder);
  Weights weights("wav2vec2_bert.");
  constexpr int64_t kWidth = 32, kHeads = 4, kHidden = 56, kNarrow = 16;
  Rows x{golden.dims[1], kWidth, golden.doubles("encoder_last_hidden_state")};
  x = sum_of(x, feed(weights, "intermediate_ffn", x, kHidden), 0.5);
  x = norm(weights, "adapter.proj_layer_norm", linear(weights, "adapter.proj", x, kNarrow));
  for (int64_t i = 0; i < 2; ++i) {
    const std::string layer = "adapter.layers." + std::to_string(i) + ".";
    const Rows residual = join_frames(weights, layer + "residual_conv",
                                      norm(weights, layer + "residual_layer_norm", x));
    const Rows input = join_frames(weights, layer + "self_attn_conv",
                                   norm(weights, layer + "self_attn_layer_norm", x));
    x = sum_of(attend(weights, layer + "self_attn", input, kHeads), residual);
    const Rows normed = norm(weights, layer + "ffn_layer_norm", x);
    x = sum_of(x, feed(weights, layer + "ffn", normed, kHidden));
  }

  const TempDir changed;
  std::string config = read_file(folder / "config.json");
  for (const auto& [from, to] :
       {std::pair{"\"add_adapter\": false", "\"add_adapter\": true"},
        std::pair{"\"num_adapter_layers\": 1", "\"num_adapter_layers\": 2"},
        std::pair{"\"output_hidden_size\": 32", "\"output_hidden_size\": 16"},
        std::pair{"\"use_intermediate_ffn_before_adapter\": false",
                  "\"use_intermediate_ffn_before_adapter\": true"}}) {
    ASSERT_NE(config.find(from), config.npos) << from;
    config.replace(config.find(from), std::string(from).size(), to);
  }
  write_file(changed / "config.json", config);
  std::filesystem::copy_file(folder / "preprocessor_config.json",
                             changed / "preprocessor_config.json");
  write_changed(folder, changed.path(), [&](const TensorInfo& tensor) -> std::vector<Tensor> {
    if (tensor.name == "lm_head.bias") return weights.all();
    if (tensor.name != "lm_head.weight") {
      return {{{tensor.name, Dtype::F32, tensor.shape}, values_of(tensor)}};
    }
    return {{{"lm_head.weight", Dtype::F32, {32, kNarrow}}, std::vector<float>(32 * kNarrow, 0.1f)},
            {{"lm_head.bias", Dtype::F32, {32}}, std::vector<float>(32)}};
  });
  Program program = from_folder(changed.path());
  const auto outputs = program.run("main", golden);
  EXPECT_EQ(x.count, 29);
  EXPECT_LE(difference(outputs.at(speech::kStates), x.values), 2e-4);
  EXPECT_EQ(outputs.at(speech::kLogits).size(), 29U * 32U);
  const SpeechRecognizer recognizer = program.recognizer();
  EXPECT_DOUBLE_EQ(recognizer.seconds_per_frame(), 0.08);
  EXPECT_EQ(recognizer.input().longest, 3000);
}

}  // namespace
}  // namespace pippin
