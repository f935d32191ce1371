// Checkpoints of mixtures of experts that contradict their configuration.
#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/io/checkpoint.h"
#include "pippin/models/models_testing.h"

namespace pippin::models {
namespace {

const std::string kMixtureSizes =
    R"({"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1,
        "num_attention_heads": 4, "num_key_value_heads": 2, )";
const std::string kMixtral = kMixtureSizes + R"("model_type": "mixtral", "num_local_experts": 4})";
const std::string kMixtralLayer = "model.layers.0.block_sparse_moe.";

Tensors tensors_in(const std::filesystem::path& folder) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  Tensors tensors;
  for (const std::string& name : checkpoint.names()) tensors[name] = checkpoint.at(name).shape;
  return tensors;
}

// The error of building a model of that configuration whose tensors were changed.
std::string message_of(const std::string& config, const std::function<void(Tensors&)>& change,
                       const std::string& other_config = "") {
  const TempDir dir;
  write_random_model(dir.path(), config);
  Tensors tensors = tensors_in(dir.path());
  change(tensors);
  write_checkpoint(dir.path(), tensors);
  if (!other_config.empty()) write_file(dir / "config.json", other_config);
  try {
    build(dir.path());
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message.substr(message.find(": ") + 2);  // after the folder or file
  }
  return "no error";
}

TEST(MixturesOfExperts, MissingExtraAndWrongExpertsAreNamed) {
  EXPECT_EQ(
      message_of(kMixtral, [](Tensors& all) { all.erase(kMixtralLayer + "experts.2.w3.weight"); }),
      "tensor '" + kMixtralLayer + "experts.2.w3.weight' of shape [24, 16] is missing");
  EXPECT_THAT(message_of(kMixtral,
                         [](Tensors& all) {
                           all[kMixtralLayer + "experts.4.w1.weight"] = {24, 16};
                         }),
              testing::HasSubstr("tensor '" + kMixtralLayer + "experts.4.w1.weight'"));
  EXPECT_EQ(message_of(kMixtral,
                       [](Tensors& all) {
                         all[kMixtralLayer + "experts.1.w2.weight"] = {24, 16};
                       }),
            "tensor '" + kMixtralLayer +
                "experts.1.w2.weight' has shape [24, 16], the configuration needs [16, 24]");
}

TEST(MixturesOfExperts, RoutersOfOtherSizesAreNamed) {
  const std::string router = kMixtralLayer + "gate.weight";
  EXPECT_EQ(message_of(kMixtral,
                       [&](Tensors& all) {
                         all[router] = {5, 16};
                       }),
            "tensor '" + router + "' has shape [5, 16], the configuration needs [4, 16]");
  EXPECT_THAT(message_of(
                  kMixtral, [](Tensors&) {},
                  kMixtureSizes + R"("model_type": "mixtral", "num_local_experts": 5})"),
              testing::HasSubstr("tensor '" + router +
                                 "' has shape [4, 16], the configuration needs [5, 16]"));
  EXPECT_THAT(message_of(
                  kMixtral, [](Tensors&) {},
                  kMixtureSizes + R"("model_type": "mixtral", "num_local_experts": 4,
                                            "num_experts_per_tok": 5})"),
              testing::HasSubstr("num_experts_per_tok: 5"));
}

// Hunyuan has such numbers for each layer, or for all.
TEST(MixturesOfExperts, NumbersOfLayersAreLimitedByWhatTheyCount) {
  const auto config = [](const std::string& more) {
    return R"({"vocab_size": 40, "hidden_size": 16, "intermediate_size": 5000,
        "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
        "model_type": "hunyuan_v1_moe", )" +
           more + "}";
  };
  const std::string fine = config(R"("num_experts": 2, "moe_topk": [1])");
  const auto no_change = [](Tensors&) {};
  EXPECT_EQ(message_of(fine, no_change), "no error");
  EXPECT_EQ(message_of(fine, no_change, config(R"("num_experts": 4097, "moe_topk": 1)")),
            "num_experts: 4097 is not between 1 and 4096");
  EXPECT_EQ(message_of(fine, no_change, config(R"("num_experts": 2, "moe_topk": [0])")),
            "moe_topk: 0 is not between 1 and 4096");
  EXPECT_EQ(message_of(fine, no_change, config(R"("num_experts": 2, "moe_topk": 3)")),
            "moe_topk: 3 of 2 experts are chosen in layer 0");
}

TEST(MixturesOfExperts, StacksOfOtherSizesAreNamed) {
  const std::string config = kMixtureSizes + R"("model_type": "granitemoe",
      "num_local_experts": 4, "num_experts_per_tok": 2})";
  const std::string stack = "model.layers.0.block_sparse_moe.input_linear.weight";
  EXPECT_EQ(message_of(config,
                       [&](Tensors& all) {
                         all[stack] = {3, 48, 16};
                       }),
            "tensor '" + stack + "' has shape [3, 48, 16], the configuration needs [4, 48, 16]");
  EXPECT_EQ(message_of(config, [&](Tensors& all) { all.erase(stack); }),
            "tensor '" + stack + "' of shape [4, 48, 16] is missing");
}

// A score of NaN would win every choice.
TEST(MixturesOfExperts, RoutersHoldFiniteNumbers) {
  const TempDir dir;
  write_random_model(dir.path(), kMixtral);
  const std::filesystem::path file = dir / "model.safetensors";
  const float values[] = {std::numeric_limits<float>::quiet_NaN(),
                          -std::numeric_limits<float>::infinity()};
  const char* const names[] = {"nan", "-inf"};
  for (int i = 0; i < 2; ++i) {
    const std::string router = kMixtralLayer + "gate.weight";
    const Tensors tensors = tensors_in(dir.path());
    std::vector<SafetensorsWriter::Declaration> declarations;
    for (const auto& [name, shape] : tensors) declarations.push_back({name, Dtype::F32, shape});
    SafetensorsWriter writer(file, declarations);
    for (const auto& [name, shape] : tensors) {
      int64_t count = 1;
      for (const int64_t dim : shape) count *= dim;
      for (int64_t at = 0; at < count; ++at) {
        const float value = name == router && at == 2 * 16 + 7 ? values[i] : 0.25f;
        writer.append(std::as_bytes(std::span(&value, 1)));
      }
    }
    writer.finish();
    try {
      build(dir.path());
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidFile);
      EXPECT_THAT(error.what(), testing::EndsWith(": tensor '" + router + "' has " + names[i] +
                                                  " at [2, 7], a finite number is expected"));
    }
  }
}

}  // namespace
}  // namespace pippin::models
