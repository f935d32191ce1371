#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/generate/stateful_model.h"

namespace pippin::generate {
namespace {

using mil::DataType;
using mil::Feature;

Feature array(const std::string& name, DataType type, std::vector<int64_t> shape,
              std::vector<mil::SizeRange> ranges = {}) {
  Feature feature;
  feature.name = name;
  feature.data_type = type;
  feature.shape = std::move(shape);
  feature.ranges = std::move(ranges);
  return feature;
}

mil::FunctionDescription mistral() {
  mil::FunctionDescription function;
  function.name = "main";
  function.inputs = {
      array("inputIds", DataType::Int32, {1, 1}, {{1, 1}, {1, 2048}}),
      array("causalMask", DataType::Float16, {1, 1, 1, 1}, {{1, 1}, {1, 1}, {1, 2048}, {1, 2048}})};
  Feature keys = array("keyCache", DataType::Float16, {32, 1, 8, 2048, 128});
  keys.kind = Feature::Kind::State;
  Feature values = keys;
  values.name = "valueCache";
  function.states = {keys, values};
  function.outputs = {array("logits", DataType::Float16, {})};
  return function;
}

// The message with which a schema is refused.
std::string refusal(const mil::FunctionDescription& function) {
  try {
    stateful_schema(function);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    return error.what();
  }
  return "accepted";
}

void expect_refusal(const mil::FunctionDescription& function, const std::string& part) {
  const std::string message = refusal(function);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(StatefulSchema, FindsThePartsOfTheMistralForm) {
  const StatefulSchema schema = stateful_schema(mistral());
  EXPECT_EQ(schema.ids, "inputIds");
  EXPECT_EQ(schema.mask, "causalMask");
  EXPECT_EQ(schema.logits, "logits");
  EXPECT_EQ(schema.query, (mil::SizeRange{1, 2048}));
  EXPECT_EQ(schema.context, 2048);
}

TEST(StatefulSchema, GoesByTypeAndShapeNotByName) {
  auto function = mistral();
  function.inputs[0].name = "input_ids";
  function.inputs[1].name = "attentionMask";
  function.inputs[1].data_type = DataType::Float32;
  std::swap(function.inputs[0], function.inputs[1]);
  const StatefulSchema schema = stateful_schema(function);
  EXPECT_EQ(schema.ids, "input_ids");
  EXPECT_EQ(schema.mask, "attentionMask");
}

TEST(StatefulSchema, AFixedQueryOfOneIsEnough) {
  auto function = mistral();
  function.inputs[0].ranges.clear();
  function.inputs[1].ranges[2] = {1, 1};
  EXPECT_EQ(stateful_schema(function).query, (mil::SizeRange{1, 1}));
}

TEST(StatefulSchema, NamesWhatDoesNotFit) {
  auto function = mistral();
  function.states.clear();
  expect_refusal(function, "no states");

  function = mistral();
  function.inputs.erase(function.inputs.begin());
  expect_refusal(function, "no int32 input of shape (1, q), inputs: 'causalMask'");

  function = mistral();
  function.inputs.pop_back();
  expect_refusal(function, "no float input of shape (1, 1, q, end), inputs: 'inputIds'");

  function = mistral();
  function.inputs.push_back(array("position", DataType::Int32, {1}));
  expect_refusal(function, "an input 'position'");
  function.inputs.back().optional = true;
  EXPECT_EQ(refusal(function), "accepted");

  function = mistral();
  function.outputs.clear();
  expect_refusal(function, "no float output, outputs: none");

  function = mistral();
  function.inputs[0].ranges.clear();
  function.inputs[0].shape = {1, 64};
  expect_refusal(function, "'inputIds' takes 64 to 64 tokens");

  function = mistral();
  function.inputs[1].ranges[3] = {512, 512};
  expect_refusal(function, "the last axis of 'causalMask' must start at 1, it is 512 to 512");

  function = mistral();
  function.inputs[0].ranges[0] = {2, 2};
  expect_refusal(function, "axis 0 of 'inputIds' must be 1");
}

TEST(CausalMask, HidesLaterTokens) {
  std::vector<float> mask(3 * 5, 9.0f);
  fill_causal_mask(mask, 3, 2);
  for (size_t row = 0; row < 3; ++row) {
    for (size_t column = 0; column < 5; ++column) {
      const float value = mask[row * 5 + column];
      if (column <= 2 + row) {
        EXPECT_EQ(value, 0);
      } else {
        EXPECT_TRUE(std::isinf(value) && value < 0);
      }
    }
  }
}

TEST(CausalMask, OneTokenSeesEverything) {
  std::vector<float> mask(4, 9.0f);
  fill_causal_mask(mask, 1, 3);
  EXPECT_EQ(mask, (std::vector<float>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace pippin::generate
