#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/error_testing.h"
#include "pippin/base/log.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/base/testing.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mil/derived_source.h"
#include "pippin/nn/attention/alibi.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/weights/parameters.h"
#include "pippin/nn/weights/weight_source.h"

namespace pippin::nn {
namespace {

// model.safetensors with "a" (2, 3) and "deep.b" (4), every element its index.
std::shared_ptr<const Checkpoint> checkpoint(const TempDir& folder, Dtype dtype) {
  SafetensorsWriter writer(folder / "model.safetensors",
                           {{"a", dtype, {2, 3}}, {"deep.b", dtype, {4}}});
  for (const int count : {6, 4}) {
    for (int i = 0; i < count; ++i) {
      const auto value = static_cast<float>(i);
      if (dtype == Dtype::F32) writer.append(std::as_bytes(std::span(&value, 1)));
      const uint16_t half = dtype == Dtype::F16 ? to_float16(value).bits : to_bfloat16(value).bits;
      if (dtype != Dtype::F32) writer.append(std::as_bytes(std::span(&half, 1)));
    }
  }
  writer.finish();
  return std::make_shared<const Checkpoint>(Checkpoint::open(folder.path()));
}

TEST(Parameters, ChecksNamesAndShapes) {
  const TempDir folder;
  const Parameters parameters(checkpoint(folder, Dtype::F32), Precision{});
  EXPECT_EQ(parameters.get("a", {2, 3}).shape(), (mil::Shape{2, 3}));
  EXPECT_THAT(thrown_message([&] {
                parameters.get("a", {3, 2});
              }),
              testing::HasSubstr("tensor 'a' has shape [2, 3], the configuration needs [3, 2]"));
  EXPECT_THAT(thrown_message([&] { parameters.at("deep").get("c", {4}); }),
              testing::HasSubstr("tensor 'deep.c' of shape [4] is missing"));
  EXPECT_THAT(thrown_message([&] { parameters.check_all_used({}); }),
              testing::HasSubstr("tensor 'deep.b' of shape [4] belongs to no part"));
  const std::string_view ignored[] = {".b"};
  parameters.check_all_used(ignored);
  EXPECT_EQ(parameters.num_parameters(), 6);
  parameters.at("deep").get("b", {4});
  parameters.check_all_used({});
}

TEST(Parameters, OneTensorIsOneConstant) {
  const TempDir folder;
  const Parameters parameters(checkpoint(folder, Dtype::BF16), Precision{});
  EXPECT_EQ(parameters.get("a", {2, 3}).node(), parameters.get("a", {2, 3}).node());
}

TEST(Parameters, KeepsStoredTypesWhereAsked) {
  const TempDir folder;
  const Parameters parameters(checkpoint(folder, Dtype::BF16),
                              Precision{mil::DataType::Float32, true});
  array::Builder builder;
  const array::Array a = parameters.get("a", {2, 3});
  EXPECT_EQ(a.type(), mil::DataType::Float32);
  builder.output("y", a);
  const auto function = builder.build();
  const mil::Operation& cast = *function->block().operations().back();
  ASSERT_EQ(cast.type(), "cast");
  const mil::Value* weight = cast.constant_input("x");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->type.data_type, mil::DataType::BFloat16);
  EXPECT_EQ(weight->source->view().size(), 2u * 3 * 2);  // in place
}

// Every part of the converted tensor, including parts that cut elements.
TEST(WeightSource, ConvertsAnyPart) {
  for (const Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::F16}) {
    const TempDir folder;
    const auto source = weight_source(checkpoint(folder, dtype), "a", mil::DataType::Float16);
    ASSERT_EQ(source->size(), 12u);
    std::vector<uint16_t> expected;
    for (int i = 0; i < 6; ++i) expected.push_back(to_float16(static_cast<float>(i)).bits);
    for (size_t begin = 0; begin <= 12; ++begin) {
      for (size_t end = begin; end <= 12; ++end) {
        std::vector<std::byte> part(end - begin);
        source->read(begin, part);
        EXPECT_TRUE(
            ranges::equal(part, std::as_bytes(std::span(expected)).subspan(begin, end - begin)));
      }
    }
    source->release();
  }
}

// Converted, with one warning for the whole checkpoint.
TEST(Parameters, DoublesAreConvertedWithAWarning) {
  const TempDir folder;
  SafetensorsWriter writer(folder / "model.safetensors",
                           {{"a", Dtype::F64, {3}}, {"b", Dtype::F64, {3}}});
  const double values[] = {0.5, -3.0, 1e300};
  for (int i = 0; i < 2; ++i) writer.append(std::as_bytes(std::span(values)));
  writer.finish();
  const auto open = std::make_shared<const Checkpoint>(Checkpoint::open(folder.path()));
  std::vector<std::string> lines;
  const LogScope log(LogLevel::Warn,
                     [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const Parameters parameters(open, Precision{mil::DataType::Float32, true});
  EXPECT_EQ(parameters.get("a", {3}).type(), mil::DataType::Float32);
  EXPECT_EQ(parameters.values("b", {3})[1], -3.0);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], testing::HasSubstr("tensor 'a' is F64"));
  EXPECT_THAT(lines[1], testing::HasSubstr("b: some values are beyond fp32"));
  std::vector<std::byte> out(6);
  weight_source(open, "a", mil::DataType::Float16)->read(0, out);
  uint16_t half = 0;
  std::memcpy(&half, out.data() + 2, 2);
  EXPECT_EQ(half, to_float16(-3.0f).bits);
}

// Every part of a transposed matrix of some rows, including parts that cut elements.
TEST(WeightSource, RearrangesAnyPart) {
  const TempDir folder;
  const auto open = checkpoint(folder, Dtype::F32);
  const auto plain = weight_source(open, "a", mil::DataType::Float16);  // 0 1 2 / 3 4 5
  const auto transposed = transposed_source(plain, 3, 2, 2);            // 0 3 / 1 4 / 2 5
  const auto rows = rows_source(transposed, 4, {2, 0, 1});
  ASSERT_EQ(rows->size(), 12u);
  std::vector<uint16_t> expected;
  for (const float value : {2, 5, 0, 3, 1, 4}) expected.push_back(to_float16(value).bits);
  for (size_t begin = 0; begin <= 12; ++begin) {
    for (size_t end = begin; end <= 12; ++end) {
      std::vector<std::byte> part(end - begin);
      rows->read(begin, part);
      const auto* wanted = reinterpret_cast<const std::byte*>(expected.data());
      EXPECT_TRUE(std::equal(part.begin(), part.end(), wanted + begin, wanted + end));
    }
  }
  EXPECT_ERROR(rows_source(plain, 6, {2}), ErrorCode::Internal,
               "row 2 of a weight of 12 bytes, 6 a row");
}

TEST(WeightSource, NeighbouringRowsAreAView) {
  const TempDir folder;
  const auto plain = weight_source(checkpoint(folder, Dtype::F32), "a", mil::DataType::Float32);
  const auto last = rows_source(plain, 12, {1});
  ASSERT_EQ(last->view().size(), 12u);
  EXPECT_EQ(last->view().data(), plain->view().data() + 12);
  EXPECT_TRUE(rows_source(plain, 12, {1, 0})->view().empty());
}

// A recipe as text: bytes as their place in the file.
class TextRecipe : public mil::Recipe {
 public:
  explicit TextRecipe(const std::byte* origin) : origin_(origin) {}
  Recipe& step(std::string_view name) override {
    text_ += std::string(name) + ";";
    return *this;
  }
  Recipe& number(int64_t value) override { return step(std::to_string(value)); }
  Recipe& bytes(ByteSpan bytes) override {
    return number(bytes.data() - origin_).number(static_cast<int64_t>(bytes.size()));
  }
  const std::string& text() const { return text_; }

 private:
  const std::byte* origin_;
  std::string text_;
};

TEST(WeightSource, SaysHowItIsMade) {
  const TempDir folder;
  const auto open = checkpoint(folder, Dtype::F32);
  const auto wide = weight_source(open, "a", mil::DataType::Float32);
  const auto half = weight_source(open, "a", mil::DataType::Float16);
  const auto recipe_of = [&](const std::shared_ptr<const mil::TensorSource>& source) {
    TextRecipe recipe(wide->view().data());
    EXPECT_TRUE(mil::describe_source(*source, recipe));
    return recipe.text();
  };
  EXPECT_EQ(recipe_of(wide), "bytes;0;24;");
  EXPECT_EQ(recipe_of(transposed_source(wide, 3, 2, 4)), "transposed;3;2;4;bytes;0;24;");
  EXPECT_EQ(recipe_of(rows_source(wide, 12, {1, 0})), "rows;2;12;12;0;12;bytes;0;24;");
  EXPECT_EQ(recipe_of(joined_source({wide, half})), "joined;2;bytes;0;24;" + recipe_of(half));
  EXPECT_THAT(recipe_of(half), testing::StartsWith("converted;"));
  EXPECT_NE(recipe_of(rows_source(half, 6, {1, 0})), recipe_of(rows_source(half, 6, {0, 1})));
}

TEST(WeightSource, WarnsOnceOfValuesBeyondHalf) {
  const TempDir folder;
  SafetensorsWriter writer(folder / "model.safetensors", {{"w", Dtype::F32, {2}}});
  const float values[] = {1e6f, 1.0f};
  writer.append(std::as_bytes(std::span(values)));
  writer.finish();
  const auto opened = std::make_shared<const Checkpoint>(Checkpoint::open(folder.path()));
  const auto source = weight_source(opened, "w", mil::DataType::Float16);
  std::vector<std::string> lines;
  const LogScope log(LogLevel::Warn,
                     [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  std::vector<std::byte> out(4);
  source->read(0, out);
  source->read(0, out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], testing::HasSubstr("w:"));
}

TEST(Rope, FrequenciesOfTheKinds) {
  const auto plain = rope_frequencies({.dims = 8, .theta = 10000.0});
  ASSERT_EQ(plain.size(), 4u);
  EXPECT_DOUBLE_EQ(plain[0], 1.0);
  EXPECT_NEAR(plain[2], 0.01, 1e-15);

  RopeScaling linear;
  linear.kind = RopeScaling::Kind::Linear;
  linear.factor = 2.5;
  EXPECT_DOUBLE_EQ(rope_frequencies({.dims = 8, .theta = 10000.0, .scaling = linear})[1],
                   plain[1] / 2.5);

  // Llama 3.1's numbers: short wavelengths stay, long ones are divided, one is between.
  RopeScaling llama3;
  llama3.kind = RopeScaling::Kind::Llama3;
  llama3.factor = 8.0;
  llama3.original_context = 8192;
  const auto base = rope_frequencies({.dims = 128, .theta = 500000.0});
  const auto scaled = rope_frequencies({.dims = 128, .theta = 500000.0, .scaling = llama3});
  for (size_t i = 0; i < base.size(); ++i) {
    const double wavelength = 2 * std::numbers::pi / base[i];
    if (wavelength < 2048) {
      EXPECT_DOUBLE_EQ(scaled[i], base[i]);
    } else if (wavelength > 8192) {
      EXPECT_DOUBLE_EQ(scaled[i], base[i] / 8);
    } else {
      EXPECT_LT(scaled[i], base[i]);
      EXPECT_GT(scaled[i], base[i] / 8);
    }
  }
}

TEST(Rope, YarnKeepsFastTurnsAndStretchesSlowOnes) {
  RopeScaling yarn;
  yarn.kind = RopeScaling::Kind::Yarn;
  yarn.factor = 4;
  yarn.original_context = 4096;
  const auto base = rope_frequencies({.dims = 128, .theta = 10000.0});
  const auto scaled = rope_frequencies({.dims = 128, .theta = 10000.0, .scaling = yarn});
  EXPECT_DOUBLE_EQ(scaled.front(), base.front());
  EXPECT_DOUBLE_EQ(scaled.back(), base.back() / 4);
  for (size_t i = 0; i < base.size(); ++i) {
    const double turns = 4096 * base[i] / (2 * std::numbers::pi);
    if (turns > 40 || turns < 0.8) {
      EXPECT_DOUBLE_EQ(scaled[i], turns > 40 ? base[i] : base[i] / 4);
    }
  }
}

TEST(Rope, DynamicThetaGrowsWithTheLength) {
  RopeScaling dynamic;
  dynamic.kind = RopeScaling::Kind::Dynamic;
  dynamic.factor = 4;
  dynamic.original_context = 100;
  const RopeOptions options{.dims = 8, .theta = 10000.0, .scaling = dynamic};
  EXPECT_EQ(rope_frequencies(options, 100), rope_frequencies(options, 1));
  const double theta = 10000.0 * std::pow(4 * 2 - 3, 8.0 / 6);
  EXPECT_NEAR(rope_frequencies(options, 200)[1], std::pow(theta, -0.25), 1e-12);
}

TEST(Rope, DeinterleavedPairsAreHalves) {
  EXPECT_EQ(deinterleaved(6, 4), (std::vector<int64_t>{0, 2, 1, 3, 4, 5}));
}

TEST(Alibi, SlopesForAnyNumberOfHeads) {
  const auto eight = alibi_slopes(8);
  for (size_t i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(eight[i], std::exp2(-1.0 - i));
  // The slopes of 4 heads, then the odd ones of 8.
  const std::vector<double> six = {0x1p-2, 0x1p-4, 0x1p-6, 0x1p-8, 0x1p-1, 0x1p-3};
  EXPECT_EQ(alibi_slopes(6), six);
  // The slopes of 8 heads: 2, 4, 6, 8, then 1, 3.
  const std::vector<double> mpt = {0x1p-2, 0x1p-4, 0x1p-6, 0x1p-8, 0x1p-1, 0x1p-3};
  EXPECT_EQ(mpt_alibi_slopes(6, 8), mpt);
  EXPECT_EQ(mpt_alibi_slopes(8, 8), eight);
}

// fp16 tables keep their precision at any position, where fp16 angles would be off by radians.
TEST(Rope, TablesAreExactToHalfPrecision) {
  array::Builder builder;
  const mil::Dim q = mil::Dim::symbol("q", 1, 4096);
  const array::Array x = builder.input("x", mil::DataType::Float16, {1, q});
  const Rope rope(4096, {.dims = 8, .theta = 10000.0}, mil::DataType::Float16);
  builder.output("y", rope.rows(0, q).cos);
  const auto function = builder.build();
  const mil::Value* table = nullptr;
  for (const auto& operation : function->block().operations()) {
    const mil::Value* value = operation->constant_value();
    if (value != nullptr && value->type.dims.size() == 4 && value->type.dims[2] == 4096) {
      table = value;
    }
  }
  ASSERT_NE(table, nullptr);
  const auto values = table->to_doubles();
  const auto frequencies = rope_frequencies({.dims = 8, .theta = 10000.0});
  for (size_t position : {0, 1, 100, 2047, 4095}) {
    for (size_t i = 0; i < 8; ++i) {
      const double angle = static_cast<double>(position) * frequencies[i % 4];
      EXPECT_NEAR(values[position * 8 + i], std::cos(angle), 0x1p-11) << position;
    }
  }
}

TEST(Norm, RMSIsSpelledAsCoremltoolsDoes) {
  const TempDir folder;
  const Parameters parameters(checkpoint(folder, Dtype::F32), Precision{});
  array::Builder builder;
  const array::Array x = builder.input("x", mil::DataType::Float16, {1, 4});
  SafetensorsWriter writer(folder / "model.safetensors", {{"norm.weight", Dtype::F32, {4}}});
  writer.append(std::vector<std::byte>(16));
  writer.finish();
  const auto opened = std::make_shared<const Checkpoint>(Checkpoint::open(folder.path()));
  const Norm norm(Parameters(opened, Precision{}).at("norm"), 4, {.epsilon = 1e-5});
  builder.output("y", norm(x));
  std::vector<std::string> types;
  const auto function = builder.build();
  for (const auto& operation : function->block().operations()) {
    if (operation->type() != "const") types.push_back(operation->type());
  }
  EXPECT_THAT(types, testing::ElementsAre("pow", "reduce_mean", "add", "rsqrt", "mul", "mul"));
}

}  // namespace
}  // namespace pippin::nn
