#include "pippin/app/facts/model_shape.h"

#include <numeric>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "tests/tiny_model.h"

namespace pippin::app {
namespace {

uint64_t stored_bytes(const ModelShape& shape) {
  return std::accumulate(
      shape.parts.begin(), shape.parts.end(), uint64_t{0},
      [](uint64_t sum, const PlannedPart& part) { return sum + part.stored_bytes; });
}

// The demo model: 6 layers of [192] with 2 heads of 32 for keys and values, 2048 tokens, fp16.
TEST(ModelShape, OneProgramHasLayers) {
  const ModelShape shape = read_shape({});
  ASSERT_EQ(shape.parts.size(), 6U);
  EXPECT_EQ(shape.width, 192);
  EXPECT_EQ(shape.vocabulary, 2048);
  EXPECT_EQ(shape.context, 512);
  EXPECT_DOUBLE_EQ(shape.logit_operations, 2.0 * 192 * 2048);
  // q and o, k and v, and the three matrices of the feed-forward.
  const double matrices = 2.0 * 192 * 192 + 2.0 * 192 * 64 + 3.0 * 192 * 512;
  for (const PlannedPart& part : shape.parts) {
    EXPECT_DOUBLE_EQ(part.operations, 2 * matrices) << part.name;
    EXPECT_EQ(part.cache_bytes, 2U * 64 * sizeof(float)) << part.name;  // of a checkpoint
  }
  const double all = 2 * (6 * matrices + 192.0 * 2048);
  EXPECT_NEAR(static_cast<double>(stored_bytes(shape)), all, all / 100);     // and norms
  EXPECT_GT(shape.parts.back().read_bytes, shape.parts.front().read_bytes);  // the head
}

TEST(ModelShape, ChunksAreParts) {
  const TempDir folder;
  ConvertOptions options;
  options.family = "anemll";
  options.chunks = 2;
  convert(source_dir() / "pippin/demo/model", folder / "chunks", options);
  const ModelShape shape = read_shape({(folder / "chunks").string()});
  ASSERT_EQ(shape.parts.size(), 4U);  // embeddings, two chunks, the head
  EXPECT_EQ(shape.parts[0].cache_bytes, 0U);
  EXPECT_EQ(shape.parts[1].cache_bytes, 3U * 2 * 64 * sizeof(uint16_t));
  EXPECT_EQ(shape.parts[1].cache_bytes, shape.parts[2].cache_bytes);
  EXPECT_EQ(shape.parts[3].cache_bytes, 0U);
  EXPECT_EQ(shape.width, 192);
  EXPECT_EQ(shape.vocabulary, 2048);
  EXPECT_EQ(shape.context, 512);
}

TEST(ModelShape, IsOfLanguageModels) {
  const TempDir folder;
  testing_models::PackageMaker maker;
  array::Builder builder(mil::Opset::CoreML5);
  maker.input("x", mil::DataType::Float32, {2});
  maker.output("y", mil::DataType::Float32, {2});
  const array::Array x = builder.input("x", mil::DataType::Float32, mil::to_shape({2}));
  builder.output("y", array::add(x, x));
  maker.finish_function("main", builder);
  maker.write(folder / "double.mlpackage");
  EXPECT_ERROR(read_shape({(folder / "double.mlpackage").string()}), ErrorCode::Unsupported,
               "double.mlpackage: not a language model, which takes tokens");
}

}  // namespace
}  // namespace pippin::app
