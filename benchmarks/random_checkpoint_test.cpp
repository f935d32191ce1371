#include "benchmarks/random_checkpoint.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/testing.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/json.h"

namespace pippin {
namespace {

RandomCheckpointOptions tiny(Dtype dtype, int shards = 1, uint64_t seed = 1) {
  return {preset_shape("tiny"), "", dtype, seed, shards};
}

TEST(RandomCheckpoint, IsAWholeModelFolder) {
  const TempDir dir;
  write_random_checkpoint(dir / "m", tiny(Dtype::F16));
  const Checkpoint checkpoint = Checkpoint::open(dir / "m");
  const Json config = Json::load(dir / "m/config.json");
  EXPECT_EQ(checkpoint.total_bytes(), checkpoint_bytes(preset_shape("tiny"), Dtype::F16));
  EXPECT_EQ(checkpoint.at("model.embed_tokens.weight").shape,
            (std::vector<int64_t>{config.get_int("vocab_size"), config.get_int("hidden_size")}));
  EXPECT_EQ(checkpoint.at("model.layers.1.self_attn.k_proj.weight").shape,
            (std::vector<int64_t>{32, 64}));
  EXPECT_FALSE(checkpoint.contains("lm_head.weight"));  // tied
  const Json vocab = Json::load(dir / "m/tokenizer.json").at("model").at("vocab");
  EXPECT_EQ(vocab.size(), static_cast<size_t>(config.get_int("vocab_size")));
  EXPECT_EQ(vocab.get_int("A"), 3 + 'A');
  EXPECT_EQ(vocab.get_int("\xc4\xa0"), 3 + ' ');  // U+0120
  EXPECT_EQ(shape_from_config(read_file(dir / "m/config.json"), "c").num_kv_heads, 2);
}

TEST(RandomCheckpoint, ExpertsHaveAModuleEach) {
  const TempDir dir;
  LlamaShape shape = preset_shape("tiny");
  shape.num_experts = 4;
  shape.experts_per_token = 2;
  shape.expert_width = 24;
  shape.norms = LlamaShape::Norms::All;
  write_random_checkpoint(dir / "m", {shape, "", Dtype::BF16, 1, 1});
  const Checkpoint checkpoint = Checkpoint::open(dir / "m");
  EXPECT_EQ(checkpoint.at("model.layers.1.mlp.gate.weight").shape, (std::vector<int64_t>{4, 64}));
  EXPECT_EQ(checkpoint.at("model.layers.1.mlp.experts.3.down_proj.weight").shape,
            (std::vector<int64_t>{64, 24}));
  EXPECT_EQ(checkpoint.at("model.layers.0.self_attn.k_norm.weight").shape,
            (std::vector<int64_t>{32}));
  EXPECT_FALSE(checkpoint.contains("model.layers.0.mlp.up_proj.weight"));
  const LlamaShape read = shape_from_config(read_file(dir / "m/config.json"), "c");
  EXPECT_EQ(read.num_experts, 4);
  EXPECT_EQ(read.expert_width, 24);
  EXPECT_EQ(checkpoint_bytes(read, Dtype::BF16), checkpoint.total_bytes());
  // For OLMoE, readers reject a second width; other models have two.
  EXPECT_FALSE(Json::load(dir / "m/config.json").contains("moe_intermediate_size"));
  shape.norms = LlamaShape::Norms::Heads;
  write_random_checkpoint(dir / "n", {shape, "", Dtype::BF16, 1, 1});
  EXPECT_EQ(Json::load(dir / "n/config.json").get_int("moe_intermediate_size"), 24);
}

TEST(RandomCheckpoint, StateSpacesHaveTheirTensors) {
  const TempDir dir;
  LlamaShape shape = preset_shape("tiny");
  shape.intermediate_size = 128;
  shape.num_heads = 8;
  shape.num_kv_heads = 2;
  shape.state_size = 10;
  write_random_checkpoint(dir / "m", {shape, "", Dtype::F16, 1, 1});
  const Checkpoint checkpoint = Checkpoint::open(dir / "m");
  EXPECT_EQ(checkpoint.at("backbone.layers.1.mixer.in_proj.weight").shape,
            (std::vector<int64_t>{128 + 128 + 40 + 8, 64}));
  EXPECT_EQ(checkpoint.at("backbone.layers.0.mixer.conv1d.weight").shape,
            (std::vector<int64_t>{168, 1, 4}));
  EXPECT_FALSE(checkpoint.contains("model.embed_tokens.weight"));
  const LlamaShape read = shape_from_config(read_file(dir / "m/config.json"), "c");
  EXPECT_EQ(read.state_size, 10);
  EXPECT_EQ(read.num_kv_heads, 2);
  EXPECT_EQ(checkpoint_bytes(read, Dtype::F16), checkpoint.total_bytes());
  shape.head_dim = 15;
  EXPECT_THROW(write_random_checkpoint(dir / "n", {shape, "", Dtype::F16, 1, 1}), Error);
}

TEST(RandomCheckpoint, NoiseHasTheScaleOfATrainedModel) {
  const TempDir dir;
  write_random_checkpoint(dir / "m", tiny(Dtype::F32));
  const Checkpoint checkpoint = Checkpoint::open(dir / "m");
  const auto deviation = [&](const char* name) {
    const ByteSpan bytes = checkpoint.at(name).bytes;
    double sum = 0;
    double squares = 0;
    const size_t count = bytes.size() / sizeof(float);
    for (size_t i = 0; i < count; ++i) {
      float value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
      EXPECT_LT(std::abs(value), 10);
      sum += value;
      squares += double{value} * value;
    }
    EXPECT_LT(std::abs(sum / static_cast<double>(count)), 0.01);
    return std::sqrt(squares / static_cast<double>(count));
  };
  EXPECT_NEAR(deviation("model.layers.0.mlp.up_proj.weight"), 1 / 8.0, 0.005);
  EXPECT_NEAR(deviation("model.layers.0.mlp.down_proj.weight"), 1 / std::sqrt(176.0) / 2, 0.002);
}

TEST(RandomCheckpoint, TheSeedDecides) {
  const TempDir dir;
  write_random_checkpoint(dir / "a", tiny(Dtype::BF16));
  write_random_checkpoint(dir / "b", tiny(Dtype::BF16));
  write_random_checkpoint(dir / "c", tiny(Dtype::BF16, 1, 2));
  const auto weights = [&](const std::string& name) {
    return read_file(dir / name / "model.safetensors");
  };
  EXPECT_TRUE(weights("a") == weights("b"));
  EXPECT_FALSE(weights("a") == weights("c"));
}

TEST(RandomCheckpoint, ShardsHoldTheSameTensors) {
  const TempDir dir;
  write_random_checkpoint(dir / "one", tiny(Dtype::F16));
  const Checkpoint one = Checkpoint::open(dir / "one");
  for (const int shards : {2, 3, static_cast<int>(one.size())}) {
    const auto folder = dir / std::to_string(shards);
    write_random_checkpoint(folder, tiny(Dtype::F16, shards));
    const Checkpoint many = Checkpoint::open(folder);
    EXPECT_EQ(many.files().size(), static_cast<size_t>(shards));
    EXPECT_EQ(many.names(), one.names());
    for (const std::string& name : one.names()) {
      EXPECT_TRUE(as_text(one.at(name).bytes) == as_text(many.at(name).bytes)) << name;
    }
  }
}

TEST(RandomCheckpoint, WrongOptionsAreErrors) {
  const TempDir dir;
  auto options = tiny(Dtype::F16, 1000);
  const auto refused = [&](const char* message) {
    EXPECT_ERROR(write_random_checkpoint(dir / "m", options), ErrorCode::InvalidArgument, message);
  };
  refused("1000 shards for 20 tensors");
  options = tiny(Dtype::I8);
  refused("dtype I8: F16, BF16 and F32 are written");
  options = tiny(Dtype::F16);
  options.shape.vocab_size = 100;
  refused("vocab_size is 100, must be from 259 to 16777216");
  EXPECT_ERROR(preset_shape("llama-1t"), ErrorCode::InvalidArgument,
               "no preset \"llama-1t\"; there are tiny, llama-160m");
  EXPECT_ERROR(shape_from_config("{\"vocab_size\": 300}", "config.json"), ErrorCode::InvalidFile,
               "config.json: the key \"hidden_size\" is missing");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace pippin
