// GGUF's blocks from the checkpoint to a plan, which reads them in place: products of both
// precisions and look-ups against the values of the blocks.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/testing.h"
#include "pippin/engine/plan.h"
#include "pippin/io/json.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/kernels/ggml_blocks/ggml_blocks.h"
#include "pippin/nn/weights/packed_forms.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::nn {
namespace {

constexpr int64_t kRows = 12, kColumns = 512;

std::shared_ptr<const Checkpoint> checkpoint_of(const TempDir& dir, const kernels::GgmlForm& form) {
  const int64_t row = kColumns / form.columns * form.bytes;
  std::mt19937 random(11);
  std::vector<std::byte> bytes(static_cast<size_t>(kRows * row));
  // Without the bits that would make scales large.
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0x3b);
  SafetensorsWriter writer(dir / "model.safetensors",
                           {{"w." + std::string(form.name), Dtype::U8, {kRows, row}}});
  writer.append(bytes);
  writer.finish();
  return std::make_shared<const Checkpoint>(Checkpoint::open(dir.path()));
}

struct Model {
  mil::Model model;

  // y = x · Wᵀ, or rows of W.
  Model(const PackedPtr& matrix, bool look_up) {
    array::Builder builder;
    const mil::Dim count = mil::Dim::symbol("n", 1, 32);
    const auto float32 = mil::DataType::Float32;
    const array::Array w = packed_array("w", matrix, {kRows, kColumns}, float32);
    const array::Array x = look_up ? builder.input("x", mil::DataType::Int32, {count})
                                   : builder.input("x", float32, {count, kColumns});
    builder.output("y", look_up ? array::gather(w, x, 0) : array::linear(x, w, std::nullopt));
    mil::FunctionDescription description;
    description.name = "main";
    mil::Feature input, output;
    input.name = "x";
    input.data_type = look_up ? mil::DataType::Int32 : float32;
    input.shape = look_up ? std::vector<int64_t>{1} : std::vector<int64_t>{1, kColumns};
    input.ranges = {{1, 32}};
    if (!look_up) input.ranges.push_back({kColumns, kColumns});
    output.name = "y";
    output.data_type = float32;
    description.inputs.push_back(input);
    description.outputs.push_back(output);
    model.program.functions.emplace("main", builder.build());
    model.functions.push_back(description);
  }
};

TEST(GgufWeights, PlansReadTheBlocks) {
  ThreadPool pool(2);
  for (const kernels::GgmlForm& form : kernels::ggml_forms()) {
    SCOPED_TRACE(form.name);
    const TempDir dir;
    const auto checkpoint = checkpoint_of(dir, form);
    // Rows in another order, twice.
    std::vector<int64_t> reversed;
    for (int64_t i = kRows; i-- > 0;) reversed.push_back(i / 2 + i % 2 * (kRows / 2));
    const PackedPtr matrix = packed_rows(
        packed_rows(gguf_weights()->matrix(checkpoint, "w", kRows, kColumns), reversed), reversed);
    std::vector<std::vector<float>> rows(kRows, std::vector<float>(kColumns));
    for (int64_t i = 0; i < kRows; ++i) packed_values(*matrix, i, rows[static_cast<size_t>(i)]);
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (const auto precision : {engine::Precision::Fast, engine::Precision::Exact}) {
      const Model product(matrix, false);
      engine::PlanOptions options;
      options.compute.precision = precision;
      const auto plan = engine::Plan::make(product.model, "main", options);
      EXPECT_NE(plan->describe().find(std::string(form.name)), std::string::npos)
          << plan->describe();
      engine::Execution execution(plan, pool);
      engine::State state(product.model.functions[0].states);
      std::vector<float> first;
      for (const int64_t count : {1, 3, 12}) {
        execution.bind({{count, kColumns}}, state);
        std::mt19937 same(5);
        for (float& value : execution.float_input(0)) value = normal(same);
        const auto x = execution.float_input(0);
        const std::vector<float> inputs(x.begin(), x.end());
        execution.run();
        const auto y = execution.float_output(0);
        for (int64_t i = 0; i < count; ++i) {
          for (int64_t j = 0; j < kRows; ++j) {
            double expected = 0, size = 0;
            for (int64_t c = 0; c < kColumns; ++c) {
              const double term = double{rows[static_cast<size_t>(j)][static_cast<size_t>(c)]} *
                                  double{inputs[static_cast<size_t>(i * kColumns + c)]};
              expected += term;
              size += term * term;
            }
            const double off = precision == engine::Precision::Fast ? 0.05 : 1e-4;
            ASSERT_NEAR(y[static_cast<size_t>(i * kRows + j)], expected,
                        off * std::sqrt(size) + 1e-6)
                << count << ": " << i << ", " << j;
          }
        }
        // A row has the same bits alone and among others.
        if (count == 1) first.assign(y.begin(), y.begin() + kRows);
        for (int64_t j = 0; j < kRows; ++j) {
          ASSERT_EQ(y[static_cast<size_t>(j)], first[static_cast<size_t>(j)]) << count << ": " << j;
        }
      }
    }
    const Model look_up(matrix, true);
    engine::Execution execution(engine::Plan::make(look_up.model, "main", {}), pool);
    engine::State state(look_up.model.functions[0].states);
    execution.bind({{2}}, state);
    execution.int_input(0)[0] = 7;
    execution.int_input(0)[1] = kRows - 1;
    execution.run();
    const auto y = execution.float_output(0);
    for (size_t c = 0; c < kColumns; ++c) {
      ASSERT_NEAR(y[c], rows[7][c], 1e-6 * std::abs(rows[7][c]) + 1e-6) << c;
      ASSERT_NEAR(y[kColumns + c], rows[kRows - 1][c], 1e-6 * std::abs(rows[kRows - 1][c]) + 1e-6);
    }
  }
}

std::vector<std::byte> bytes_of_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// Blocks of random bytes, with the values that gguf-py reads of them (tests/gguf/make_blocks.py).
TEST(GgufWeights, ValuesAreThoseOfTheFormat) {
  PIPPIN_SHARED_OR_SKIP(file, "gguf-blocks.json");
  size_t types = 0;
  for (const Json& row : Json::load(file).elements()) {
    const std::string type = row.get_string("type");
    SCOPED_TRACE(type);
    const std::vector<std::byte> bytes = bytes_of_hex(row.get_string("blocks"));
    const std::vector<double> values = row.at("values").as_floats();
    const TempDir dir;
    for (const bool scaled : {false, true}) {
      std::vector<SafetensorsWriter::Declaration> entries = {
          {"w." + type, Dtype::U8, {1, std::ssize(bytes)}}};
      if (scaled) entries.push_back({"w.scale", Dtype::F32, {1}});
      SafetensorsWriter writer(dir / "model.safetensors", entries);
      writer.append(bytes);
      const float factor = 0.5f;
      if (scaled) writer.append(std::as_bytes(std::span(&factor, 1)));
      writer.finish();
      const auto checkpoint = std::make_shared<const Checkpoint>(Checkpoint::open(dir.path()));
      const PackedPtr matrix = gguf_weights()->matrix(checkpoint, "w", 1, std::ssize(values));
      EXPECT_EQ(matrix->blocks() == nullptr, scaled);
      std::vector<float> unpacked(values.size());
      packed_values(*matrix, 0, unpacked);
      for (size_t i = 0; i < values.size(); ++i) {
        const double expected = scaled ? values[i] / 2 : values[i];
        ASSERT_NEAR(unpacked[i], expected, 1e-6 * std::abs(expected)) << i;
      }
    }
    ++types;
  }
  EXPECT_EQ(types, 13U);
}

}  // namespace
}  // namespace pippin::nn
