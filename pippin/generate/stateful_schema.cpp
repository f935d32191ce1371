#include <algorithm>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/generate/stateful_model.h"

namespace pippin::generate {
namespace {

using mil::Feature;
using mil::SizeRange;

[[noreturn]] void refuse(const std::string& what) {
  fail(ErrorCode::Unsupported,
       "not a stateful language model (ids and a causal mask in, caches as states, logits out): {}",
       what);
}

// The sizes that an axis may have.
SizeRange axis_range(const Feature& feature, size_t axis) {
  if (axis < feature.ranges.size()) {
    SizeRange range = feature.ranges[axis];
    if (range.upper < 0) range.upper = std::numeric_limits<int32_t>::max();
    return range;
  }
  return {feature.shape[axis], feature.shape[axis]};
}

bool is_float_feature(const Feature& feature) {
  return mil::is_float(feature.data_type);
}

size_t rank(const Feature& feature) {
  return std::max(feature.shape.size(), feature.ranges.size());
}

void require_one(const Feature& feature, size_t axis) {
  const SizeRange range = axis_range(feature, axis);
  if (range.lower > 1 || range.upper < 1) {
    refuse(fmt::format("axis {} of '{}' must be 1", axis, feature.name));
  }
}

std::string names(const std::vector<Feature>& features) {
  std::string result;
  for (const Feature& feature : features) {
    result += (result.empty() ? "'" : ", '") + feature.name + "'";
  }
  return result.empty() ? "none" : result;
}

}  // namespace

StatefulSchema stateful_schema(const mil::FunctionDescription& function) {
  const Feature* ids = nullptr;
  const Feature* mask = nullptr;
  for (const Feature& input : function.inputs) {
    const bool is_array = input.kind == Feature::Kind::MultiArray;
    if (is_array && ids == nullptr && input.data_type == mil::DataType::Int32 && rank(input) == 2) {
      ids = &input;
    } else if (is_array && mask == nullptr && is_float_feature(input) && rank(input) == 4) {
      mask = &input;
    } else if (!input.optional) {
      refuse(fmt::format("it needs an input '{}' of another kind", input.name));
    }
  }
  if (ids == nullptr) {
    refuse(fmt::format("no int32 input of shape (1, q), inputs: {}", names(function.inputs)));
  }
  if (mask == nullptr) {
    refuse(
        fmt::format("no float input of shape (1, 1, q, end), inputs: {}", names(function.inputs)));
  }
  if (function.states.empty()) refuse("it has no states");
  const auto logits =
      std::find_if(function.outputs.begin(), function.outputs.end(), [](const Feature& output) {
        return output.kind == Feature::Kind::MultiArray && is_float_feature(output);
      });
  if (logits == function.outputs.end()) {
    refuse(fmt::format("no float output, outputs: {}", names(function.outputs)));
  }
  for (const Feature* input : {ids, mask}) {
    if (!input->enumerated_shapes.empty()) {
      refuse(fmt::format("input '{}' has enumerated shapes, a range is needed", input->name));
    }
  }

  require_one(*ids, 0);
  require_one(*mask, 0);
  require_one(*mask, 1);
  const SizeRange id_query = axis_range(*ids, 1);
  const SizeRange mask_query = axis_range(*mask, 2);
  const SizeRange end = axis_range(*mask, 3);
  StatefulSchema schema;
  schema.ids = ids->name;
  schema.mask = mask->name;
  schema.logits = logits->name;
  schema.query = {std::max(id_query.lower, mask_query.lower),
                  std::min(id_query.upper, mask_query.upper)};
  if (schema.query.lower > 1 || schema.query.upper < 1) {
    refuse(fmt::format("'{}' takes {} to {} tokens at a time, one by one is needed", ids->name,
                       schema.query.lower, schema.query.upper));
  }
  if (end.lower > 1) {
    refuse(fmt::format("the last axis of '{}' must start at 1, it is {} to {}", mask->name,
                       end.lower, end.upper));
  }
  schema.context = end.upper;
  schema.query.upper = std::min(schema.query.upper, schema.context);
  return schema;
}

void fill_causal_mask(std::span<float> mask, int64_t query, int64_t past) {
  const int64_t end = past + query;
  for (int64_t row = 0; row < query; ++row) {
    const auto begin = mask.begin() + row * end;
    std::fill(begin, begin + past + row + 1, 0.0f);
    std::fill(begin + past + row + 1, begin + end, -std::numeric_limits<float>::infinity());
  }
}

}  // namespace pippin::generate
