// whisper.cpp's Core ML form of a decoder, as shards, compared with the model that they are made
// of.
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/open/speech_model.h"
#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/model_source.h"
#include "pippin/speech/folder_testing.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using array::Array;

constexpr int64_t kWidth = 32, kHeads = 4, kInner = 64, kPositions = 200;
constexpr mil::DataType kFloat = mil::DataType::Float32, kHalf = mil::DataType::Float16;

// Records a shard of the decoder of speech::WhisperFolder.
class ShardRecorder {
 public:
  ShardRecorder(const fs::path& folder, int64_t slots)
      : weights_(models::open_parameters(folder, {.compute = kFloat}).at("model.decoder")),
        vocab_size_(models::load_config(folder).get_int("vocab_size")),
        slots_(slots) {}

  mil::Model record(int64_t first, int64_t end, bool is_last) {
    const Array row = first == 0 ? embed() : reshape(input("x_data", kFloat, {1, kWidth, 1, 1}));
    slot_ = input("slot_mask", kFloat, {1, 1, 1, slots_});
    mask_ = array::reshape(input("self_mask", kFloat, {1, slots_, 1, 1}), {1, 1, 1, slots_});
    Array x = row;
    for (int64_t layer = first; layer < end; ++layer) x = run_layer(layer, x);
    if (is_last) {
      const Array table = weights_.at("embed_tokens").get("weight", {vocab_size_, kWidth});
      output("logits", array::matmul(norm(weights_, "layer_norm", x), table, false, true));
    } else {
      output("x_out", array::reshape(x, {1, kWidth, 1, 1}));
    }
    mil::Model model;
    model.program.functions.emplace("main", builder_.build());
    model.functions = {std::move(description_)};
    return model;
  }

 private:
  Array input(const std::string& name, mil::DataType type, const std::vector<int64_t>& dims) {
    description_.inputs.push_back(mil::array_feature(name, "", type, dims));
    return builder_.input(name, type, mil::to_shape(dims));
  }
  void output(const std::string& name, const Array& value) {
    description_.outputs.push_back(mil::array_feature(name, "", value.type()));
    builder_.output(name, value);
  }
  static Array reshape(const Array& x) { return array::reshape(x, {1, 1, kWidth}); }

  Array embed() {
    const Array id = input("token_data", mil::DataType::Int32, {1, 1});
    const Array position = input("pos_data", mil::DataType::Int32, {1});
    const Array tokens = weights_.at("embed_tokens").get("weight", {vocab_size_, kWidth});
    const Array places = weights_.at("embed_positions").get("weight", {64, kWidth});
    return array::gather(tokens, id) + array::expand_dims(array::gather(places, position), {0});
  }
  static Array norm(const nn::Parameters& at, const std::string& name, const Array& x) {
    const nn::Parameters own = at.at(name);
    return array::layer_norm(x, {2}, own.get("weight", {kWidth}), own.get("bias", {kWidth}), 1e-5);
  }
  static Array linear(const nn::Parameters& at, const std::string& name, const Array& x,
                      int64_t outputs, int64_t inputs) {
    const nn::Parameters own = at.at(name);
    std::optional<Array> bias;
    if (name != "k_proj") bias = own.get("bias", {outputs});
    return array::linear(x, own.get("weight", {outputs, inputs}), bias);
  }
  static Array attend(const nn::Parameters& at, const Array& x, const Array& keys,
                      const Array& values, const std::optional<Array>& mask) {
    constexpr int64_t kSize = kWidth / kHeads;
    const auto heads = [&](const Array& columns) {
      return array::reshape(array::cast(columns, kFloat), {1, kHeads, kSize, columns.dim(3)});
    };
    const Array query =
        array::reshape(linear(at, "q_proj", x, kWidth, kWidth), {1, kHeads, 1, kSize});
    Array scores = array::matmul(query, heads(keys)) * (1 / std::sqrt(static_cast<double>(kSize)));
    if (mask) scores = scores + *mask;
    const Array mixed = array::matmul(array::softmax(scores), heads(values), false, true);
    return linear(at, "out_proj", reshape(mixed), kWidth, kWidth);
  }

  Array run_layer(int64_t index, Array x) {
    const nn::Parameters at = weights_.at("layers").at(index);
    const std::string number = std::to_string(index);
    const Array normed = norm(at, "self_attn_layer_norm", x);
    std::vector<Array> caches;
    for (const char* one : {"k", "v"}) {
      const std::string name = one;
      const std::vector<int64_t> dims = {1, kWidth, 1, slots_};
      const std::string state = name + "_cache_" + number;
      description_.states.push_back(mil::state_feature(state, kHalf, dims));
      const Array old = array::cast(array::read_state(builder_.state(state, kHalf, dims)), kFloat);
      const Array column = array::reshape(
          linear(at.at("self_attn"), name + "_proj", normed, kWidth, kWidth), {1, kWidth, 1, 1});
      caches.push_back(old * (*slot_ * -1.0 + 1.0) + column * *slot_);
      output(name + "_out_" + number, array::cast(column, kHalf));
    }
    x = x + attend(at.at("self_attn"), normed, caches[0], caches[1], mask_);
    const std::vector<int64_t> dims = {1, kWidth, 1, kPositions};
    const Array keys = input("cross_k_" + number, kHalf, dims);
    const Array values = input("cross_v_" + number, kHalf, dims);
    x = x + attend(at.at("encoder_attn"), norm(at, "encoder_attn_layer_norm", x), keys, values, {});
    const Array inner =
        array::gelu(linear(at, "fc1", norm(at, "final_layer_norm", x), kInner, kWidth));
    return x + linear(at, "fc2", inner, kWidth, kInner);
  }

  array::Builder builder_;
  mil::FunctionDescription description_{.name = "main"};
  nn::Parameters weights_;
  int64_t vocab_size_, slots_;
  std::optional<Array> slot_, mask_;
};

class GgmlDecoder : public testing::Test {
 protected:
  GgmlDecoder() {
    fs::create_directory(path("model"));
    const speech::WhisperFolder written(path("model"));
  }

  fs::path path(const std::string& name) const { return scratch_ / name; }
  void write_shards(int64_t slots = 48) {
    mil::write_compiled(ShardRecorder(path("model"), slots).record(0, 1, false), first());
    mil::write_package(ShardRecorder(path("model"), slots).record(1, 2, true),
                       path("a-decoder-cross-input-no-write-s1-l1-logits.mlpackage"));
  }
  fs::path first() const { return path("a-decoder-cross-input-no-write-s0-l1-token.mlmodelc"); }
  OpenedWindows open(const fs::path& decoder = {}) const {
    ModelChoice choice;
    choice.path = path("model").string();
    choice.decoder = decoder.string();
    choice.load.threads = 1;
    return open_windows(choice);
  }

 private:
  TempDir scratch_;
};

// Caches are fp16.
void expect_near(std::span<const float> found, std::span<const float> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 0.05) << i;
}

TEST_F(GgmlDecoder, ShardsGiveTheLogitsOfTheModel) {
  write_shards();
  const OpenedWindows whole = open(), sharded = open(first());
  EXPECT_EQ(sharded.model->context(), 48);
  EXPECT_EQ(sharded.model->vocab_size(), whole.model->vocab_size());
  std::vector<float> features(static_cast<size_t>(80 * 2 * kPositions));
  for (size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i * i % 17) / 17;
  EXPECT_EQ(sharded.model->states(features), whole.model->states(features));
  const auto expected = whole.model->encode(features), found = sharded.model->encode(features);
  const std::vector<int32_t> prompt = {257, 258, 262, 70, 71}, next = {33}, other = {99};
  expect_near(found->feed(prompt), expected->feed(prompt));
  const auto expected_fork = expected->fork(), found_fork = found->fork();
  expect_near(found->feed(next), expected->feed(next));
  // Both continuations in one step, then tokens in the place of others.
  speech::WindowDecoder* const decoders[] = {found.get(), found_fork.get()};
  const std::vector<int32_t> ids = {40, 99};
  const auto each = sharded.model->feed_each(decoders, ids);
  expect_near(each[0], expected->feed({ids.data(), 1}));
  expect_near(each[1], expected_fork->feed(other));
  for (const auto& decoder : {found.get(), expected.get()}) decoder->truncate(3);
  expect_near(found->feed(other), expected->feed(other));
  EXPECT_EQ(found->position(), 4);
  EXPECT_ERROR(found->feed(std::vector<int32_t>(45, 65)), ErrorCode::LimitExceeded, "48 slots");
  ASSERT_TRUE(sharded.model->can_align());
  const speech::Alignment a = sharded.model->align(*found, prompt),
                          b = whole.model->align(*expected, prompt);
  EXPECT_EQ(a.heads, b.heads);
  EXPECT_EQ(a.weights, b.weights);
  expect_near(a.logits, b.logits);
}

TEST_F(GgmlDecoder, OfOtherShapesIsRefused) {
  EXPECT_ERROR(open(first()), ErrorCode::NotFound, "no such package");
  write_shards();
  EXPECT_ERROR(open(path("model")), ErrorCode::InvalidArgument, "not a shard of a decoder");
  fs::rename(first(), path("other.mlmodelc"));
  EXPECT_ERROR(open(path("a-decoder-cross-input-no-write-s1-l1-logits.mlpackage")),
               ErrorCode::NotFound, "have 0 of 2 layers");
  mil::write_compiled(ShardRecorder(path("model"), 48).record(0, 1, true), first());
  EXPECT_ERROR(open(first()), ErrorCode::InvalidFile, "no output 'x_out'");
}

}  // namespace
}  // namespace pippin::app
