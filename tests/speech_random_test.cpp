// Models that recognize speech with random weights: plans compute what the value rules of the
// operations give, for inputs of several lengths, and packages run.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/families/package.h"
#include "pippin/families/speech.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/speech/speech_model.h"
#include "pippin/runtime/speech/speech_recognizer.h"

namespace pippin {
namespace {

struct RandomSpeech {
  const char* name;
  std::string config;
};

const std::string waveform_sizes =
    R"("hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 12,
       "conv_dim": [6, 5], "conv_kernel": [4, 3], "conv_stride": [3, 2], "vocab_size": 7,
       "num_conv_pos_embeddings": 5, "num_conv_pos_embedding_groups": 2)";
const std::string conformer_sizes =
    R"("hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 12,
       "num_mel_bins": 8, "subsampling_factor": 4, "subsampling_conv_channels": 3,
       "conv_kernel_size": 3)";

std::vector<RandomSpeech> random_models() {
  const auto transducer = [](const char* type, const char* more) {
    return fmt::format(R"({{"model_type": "{}", "vocab_size": 7, "blank_token_id": 6,
                            "decoder_hidden_size": 6, "num_decoder_layers": 2, {}
                            "max_symbols_per_step": 3, "encoder_config": {{{}}}}})",
                       type, more, conformer_sizes);
  };
  return {{"wav2vec2", "{\"model_type\": \"wav2vec2\", " + waveform_sizes + "}"},
          {"wav2vec2_norms_first",
           "{\"model_type\": \"wav2vec2\", \"do_stable_layer_norm\": true, "
           "\"feat_extract_norm\": \"layer\", \"conv_bias\": true, " +
               waveform_sizes + "}"},
          {"hubert_batch_norm",
           "{\"model_type\": \"hubert\", \"feat_proj_layer_norm\": false, "
           "\"conv_pos_batch_norm\": true, " +
               waveform_sizes + "}"},
          {"wavlm", "{\"model_type\": \"wavlm\", \"num_buckets\": 8, \"max_bucket_distance\": 4, " +
                        waveform_sizes + "}"},
          {"wav2vec2_bert",
           R"({"model_type": "wav2vec2-bert", "hidden_size": 8, "num_attention_heads": 2,
           "num_hidden_layers": 2, "intermediate_size": 12, "feature_projection_input_dim": 6,
           "conv_depthwise_kernel_size": 3, "left_max_position_embeddings": 2,
           "right_max_position_embeddings": 1, "vocab_size": 7})"},
          {"wav2vec2_bert_adapter",
           R"({"model_type": "wav2vec2-bert", "hidden_size": 8, "num_attention_heads": 2,
           "num_hidden_layers": 1, "intermediate_size": 12, "feature_projection_input_dim": 6,
           "conv_depthwise_kernel_size": 3, "left_max_position_embeddings": 2,
           "right_max_position_embeddings": 1, "vocab_size": 7, "add_adapter": true,
           "adapter_kernel_size": 4, "num_adapter_layers": 2, "output_hidden_size": 4})"},
          {"wav2vec2_language",
           "{\"model_type\": \"wav2vec2\", \"do_stable_layer_norm\": true, "
           "\"adapter_attn_dim\": 3, " +
               waveform_sizes + "}"},
          {"parakeet_ctc",
           fmt::format(R"({{"model_type": "parakeet_ctc", "vocab_size": 7, "pad_token_id": 6,
                        "encoder_config": {{{}}}}})",
                       conformer_sizes)},
          {"parakeet_rnnt", transducer("parakeet_rnnt", "")},
          {"parakeet_tdt", transducer("parakeet_tdt", "\"durations\": [0, 1, 3],")},
          {"lasr_ctc",
           R"({"model_type": "lasr_ctc", "vocab_size": 7, "encoder_config": {
           "hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1,
           "num_hidden_layers": 2, "intermediate_size": 12, "num_mel_bins": 6,
           "subsampling_conv_channels": 5, "subsampling_conv_kernel_size": 3,
           "conv_kernel_size": 4}})"}};
}

class RandomSpeechModels : public testing::TestWithParam<RandomSpeech> {
 protected:
  // The folder of the model, written once.
  static std::filesystem::path folder() {
    static std::map<std::string, TempDir> folders;
    const auto [found, is_new] = folders.try_emplace(GetParam().name);
    if (is_new) {
      models::write_random_model(found->second.path(), GetParam().config,
                                 [](const auto& path) { models::build_speech(path); });
    }
    return found->second.path();
  }

  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(1);
};

std::vector<float> noise(int64_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

std::map<std::string, std::vector<double>> run_sound(const mil::Model& model, ThreadPool& pool,
                                                     engine::Precision precision,
                                                     const std::vector<float>& values,
                                                     std::vector<int64_t> dims) {
  const auto runner = engine::Runner::make(model, model.default_function, pool,
                                           {.compute = {.precision = precision}});
  engine::HostTensor input{mil::DataType::Float32, std::move(dims), {}, {}, {}, {}};
  const auto bytes = std::as_bytes(std::span(values));
  input.bytes.assign(bytes.begin(), bytes.end());
  engine::NamedHostTensors inputs;
  inputs.emplace(model.functions.front().inputs.front().name, input);
  engine::State state(std::vector<mil::Feature>{});
  std::map<std::string, std::vector<double>> outputs;
  for (const auto& [name, output] : runner->run(inputs, state)) {
    outputs[name] = engine::to_tensor(output).values;
  }
  return outputs;
}

TEST_P(RandomSpeechModels, PlansFollowTheValueRules) {
  const auto model = std::make_shared<const mil::Model>(
      models::build_speech(folder(), {.compute = models::BuildOptions::Compute::Float32Direct}));
  mil::verify(model->program);
  runtime::SpeechRecognizer recognizer(model, pool_);
  const auto input = recognizer.input();
  for (const int64_t more : {0, 1, 20}) {
    const int64_t length = input.shortest + more;
    SCOPED_TRACE(length);
    const std::vector<float> values = noise(length * std::max<int64_t>(input.bins, 1));
    std::vector<int64_t> dims = {1, length};
    if (input.bins > 0) dims.push_back(input.bins);
    const auto fast = run_sound(*model, *pool_, engine::Precision::Exact, values, dims);
    const auto slow = run_sound(*model, *pool_, engine::Precision::Reference, values, dims);
    ASSERT_EQ(fast.size(), 2U);
    for (const auto& [name, expected] : slow) {
      const std::vector<double>& given = fast.at(name);
      ASSERT_EQ(given.size(), expected.size());
      for (size_t i = 0; i < given.size(); ++i) ASSERT_NEAR(given[i], expected[i], 1e-4) << name;
    }
    const auto tokens = recognizer.recognize(values);
    EXPECT_EQ(recognizer.recognize(values), tokens);
    for (size_t i = 1; i < tokens.size(); ++i) EXPECT_GE(tokens[i].begin, tokens[i - 1].begin);
  }
}

TEST_P(RandomSpeechModels, RunAsPackages) {
  const TempDir out;
  mil::write_package(models::build_speech(folder(), {.context = 9}), out / "x.mlpackage");
  const auto model = std::make_shared<const mil::Model>(mil::read_package(out / "x.mlpackage"));
  mil::verify(model->program);
  EXPECT_EQ(model->metadata.user_defined.at(families::kFamilyKey), families::speech::kName);
  EXPECT_EQ(models::frames_of(*model), 9);
  runtime::SpeechRecognizer recognizer(model, pool_);
  const auto input = recognizer.input();
  const std::vector<float> values = noise(input.longest * std::max<int64_t>(input.bins, 1));
  for (const runtime::SpeechToken& token : recognizer.recognize(values)) {
    EXPECT_LT(token.begin, token.end);
    EXPECT_LE(token.end, 9);
    EXPECT_NE(token.id, recognizer.blank());
    EXPECT_LT(token.id, 7);
  }
}

INSTANTIATE_TEST_SUITE_P(Random, RandomSpeechModels, testing::ValuesIn(random_models()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pippin
