#include "pippin/runtime/package/step_schema.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/runtime/package/step_runner.h"
#include "pippin/runtime/stateful/model.h"

namespace pippin::runtime {
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

mil::FunctionDescription anemll(int64_t query) {
  mil::FunctionDescription function;
  function.name = query == 1 ? "infer" : "prefill";
  function.inputs = {array("hidden_states", DataType::Float16, {1, query, 64}),
                     array("position_ids", DataType::Int32, {query}),
                     array("causal_mask", DataType::Float16, {1, 1, query, 512}),
                     array("current_pos", DataType::Int32, {1}),
                     array("update_mask", DataType::Float16, {1, 1, 512, query})};
  Feature cache = array("kv_cache_0", DataType::Float16, {4, 2, 512, 16});
  cache.kind = Feature::Kind::State;
  function.states = {cache};
  function.outputs = {array("output_hidden_states", DataType::Float16, {1, 1, 64})};
  return function;
}

void expect_refusal(const mil::FunctionDescription& function, const std::string& part) {
  EXPECT_ERROR(stateful_schema({&function}), ErrorCode::Unsupported, part);
}

TEST(StatefulSchema, FindsThePartsOfTheMistralForm) {
  const auto function = mistral();
  const StatefulSchema schema = stateful_schema({&function});
  ASSERT_EQ(schema.steps.size(), 1U);
  EXPECT_EQ(schema.steps[0].tokens, "inputIds");
  EXPECT_EQ(schema.steps[0].mask, "causalMask");
  EXPECT_EQ(schema.steps[0].logits, (std::vector<std::string>{"logits"}));
  EXPECT_EQ(schema.steps[0].query.to_string(), "1 to 2048");
  EXPECT_EQ(schema.context, 2048);
}

TEST(StatefulSchema, GoesByTypeAndShapeNotByName) {
  auto function = mistral();
  function.inputs[0].name = "input_ids";
  function.inputs[1].name = "attentionMask";
  function.inputs[1].data_type = DataType::Float32;
  std::swap(function.inputs[0], function.inputs[1]);
  const StatefulSchema schema = stateful_schema({&function});
  EXPECT_EQ(schema.steps[0].tokens, "input_ids");
  EXPECT_EQ(schema.steps[0].mask, "attentionMask");
}

TEST(StatefulSchema, TakesRangesListsAndNumbersOfTokens) {
  auto function = mistral();
  function.inputs[0].ranges.clear();
  function.inputs[1].ranges[2] = {1, 1};
  EXPECT_EQ(stateful_schema({&function}).steps[0].query.to_string(), "1");
  function = mistral();
  function.inputs[0].ranges.clear();
  function.inputs[0].enumerated_shapes = {{1, 64}, {1, 1}, {1, 4096}};
  EXPECT_EQ(stateful_schema({&function}).steps[0].query.to_string(), "1 or 64");
}

TEST(StatefulSchema, TheFunctionOfOneTokenComesFirst) {
  auto one = mistral(), many = mistral();
  many.name = "x";
  many.inputs[0].ranges[1] = {64, 64};
  one.inputs[0].ranges[1] = {1, 1};
  const StatefulSchema schema = stateful_schema({&many, &one});
  ASSERT_EQ(schema.steps.size(), 2U);
  EXPECT_EQ(schema.steps[0].function, "main");
  EXPECT_EQ(schema.steps[1].function, "x");
}

TEST(StatefulSchema, NamesWhatDoesNotFit) {
  auto function = mistral();
  function.inputs.erase(function.inputs.begin());
  expect_refusal(function, "inputs: 'causalMask'");

  function = mistral();
  function.inputs.pop_back();
  expect_refusal(function, "no float input of shape (1, 1, q, end)");

  function = mistral();
  function.inputs.push_back(array("length", DataType::Int32, {1}));
  expect_refusal(function, "an input 'length'");
  function.inputs.back().optional = true;
  EXPECT_NO_THROW(stateful_schema({&function}));

  function = mistral();
  function.inputs.push_back(array("keyCache", DataType::Float16, {32, 8, 2048, 128}));
  expect_refusal(function, "an input 'keyCache': caches as inputs");

  function = mistral();
  function.outputs.clear();
  expect_refusal(function, "no float output, outputs: none");

  function = mistral();
  function.inputs[1].ranges[3] = {512, 512};
  expect_refusal(function, "always has 512 columns");

  function = mistral();
  function.inputs[1].ranges[3] = {5, 512};
  expect_refusal(function, "must start at 1, it is 5 to 512");

  function = mistral();
  function.inputs[0].ranges[0] = {2, 2};
  expect_refusal(function, "axis 0 of 'inputIds' must be 1");

  function = mistral();
  function.inputs[0].ranges[1] = {4096, 4096};
  expect_refusal(function, "agree on no number of tokens");
}

TEST(StepSchema, FindsThePartsOfAnAnemllChunk) {
  for (const int64_t query : {1, 64}) {
    const StepSchema schema = step_schema(anemll(query));
    EXPECT_EQ(schema.tokens, "hidden_states");
    EXPECT_FALSE(schema.takes_ids);
    EXPECT_EQ(schema.width, 64);
    EXPECT_EQ(schema.mask, "causal_mask");
    EXPECT_EQ(schema.update_mask, "update_mask");
    EXPECT_EQ(schema.update_slots, 512);
    EXPECT_EQ(schema.positions, "position_ids");
    EXPECT_EQ(schema.first_position, "current_pos");
    EXPECT_EQ(schema.query.to_string(), std::to_string(query));
    EXPECT_EQ(schema.end.to_string(), "512");
    EXPECT_EQ(schema.hidden, "output_hidden_states");
    EXPECT_EQ(schema.hidden_rows, 1);
    EXPECT_FALSE(schema.gives_logits());
  }
}

TEST(StepSchema, PartsOfLogitsAreInTheOrderOfTheirNumbers) {
  auto head = anemll(1);
  head.inputs.resize(1);
  head.states.clear();
  head.outputs.clear();
  for (const int part : {10, 2, 1, 9, 3, 4, 5, 6, 7, 8}) {
    head.outputs.push_back(array("logits" + std::to_string(part), DataType::Float16, {1, 1, 8}));
  }
  const StepSchema schema = step_schema(head);
  ASSERT_EQ(schema.logits.size(), 10U);
  EXPECT_EQ(schema.logits[1], "logits2");
  EXPECT_EQ(schema.logits[9], "logits10");
}

// Float ids and positions, inputs of rank 1, an output place.
TEST(StepSchema, FindsThePartsOfPackagesOfOthers) {
  mil::FunctionDescription function;
  function.name = "main";
  function.inputs = {array("input_ids", DataType::Float32, {1, 64}),
                     array("position_ids", DataType::Float32, {1, 64}),
                     array("output_mask", DataType::Int32, {1})};
  function.outputs = {array("logits", DataType::Float16, {1, 1, 512})};
  const StepSchema schema = step_schema(function);
  EXPECT_EQ(schema.tokens, "input_ids");
  EXPECT_EQ(schema.tokens_rank, 2U);
  EXPECT_EQ(schema.positions, "position_ids");
  EXPECT_EQ(schema.positions_rank, 2U);
  EXPECT_EQ(schema.output_place, "output_mask");
  EXPECT_EQ(schema.query.to_string(), "64");
  function.inputs = {array("input_ids", DataType::Int32, {64}),
                     array("positions", DataType::Int32, {64})};
  const StepSchema flat = step_schema(function);
  EXPECT_EQ(flat.tokens_rank, 1U);
  EXPECT_EQ(flat.positions_rank, 1U);
  // Floats of shape (1, width) may be anything.
  function.inputs = {array("audio", DataType::Float32, {1, 64})};
  expect_refusal(function, "an input 'audio' of another kind");
}

TEST(StepSchema, FindsTheChosenTokenAndItsLogit) {
  auto function = anemll(1);
  function.outputs = {array("token_id", DataType::Int32, {1}),
                      array("token_logit", DataType::Float16, {1})};
  const StepSchema schema = step_schema(function);
  EXPECT_TRUE(schema.gives_argmax());
  EXPECT_FALSE(schema.gives_logits());
  EXPECT_EQ(schema.argmax_index, "token_id");
  EXPECT_EQ(schema.argmax_value, "token_logit");
  function.outputs.pop_back();
  EXPECT_TRUE(step_schema(function).gives_argmax());
  function.outputs = {array("token_logit", DataType::Float16, {1})};
  expect_refusal(function, "the logit of a token that no output tells");
}

TEST(AxisSizes, ChoosesSizes) {
  const AxisSizes list(std::vector<int64_t>{64, 1, 16});
  EXPECT_EQ(list.at_most(63), 16);
  EXPECT_EQ(list.at_most(0), 0);
  EXPECT_EQ(list.at_least(17), 64);
  EXPECT_EQ(list.at_least(65), 0);
  const AxisSizes range(mil::SizeRange{2, 20});
  EXPECT_EQ(range.at_most(1), 0);
  EXPECT_EQ(range.at_most(30), 20);
  EXPECT_EQ(range.at_least(1), 2);
  EXPECT_EQ(range.at_least(21), 0);
  EXPECT_EQ(list.intersect(range).to_string(), "16");
  EXPECT_TRUE(list.intersect(AxisSizes(std::vector<int64_t>{2})).empty());
}

TEST(CausalMask, HidesLaterTokensAndTheRest) {
  std::vector<float> mask(3 * 7, 9.0f);
  fill_causal_mask(mask, 3, 2, 7);
  for (size_t row = 0; row < 3; ++row) {
    for (size_t column = 0; column < 7; ++column) {
      const float value = mask[row * 7 + column];
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
  fill_causal_mask(mask, 1, 3, 4);
  EXPECT_EQ(mask, (std::vector<float>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace pippin::runtime
