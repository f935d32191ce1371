#include "pippin/runtime/package/step_schema.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include <fmt/ranges.h>

#include "pippin/base/error.h"

namespace pippin::runtime {
namespace {

using mil::Feature;
using mil::SizeRange;

[[noreturn]] void refuse(const std::string& what) {
  fail(ErrorCode::Unsupported, "not a language model's step: {}", what);
}

size_t rank(const Feature& feature) {
  if (!feature.enumerated_shapes.empty()) return feature.enumerated_shapes.front().size();
  return std::max(feature.shape.size(), feature.ranges.size());
}

bool names_contain(const Feature& feature, std::string_view part) {
  std::string name = feature.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find(part) != name.npos;
}

std::string names(const std::vector<Feature>& features) {
  std::string result;
  for (const Feature& feature : features) {
    result += (result.empty() ? "'" : ", '") + feature.name + "'";
  }
  return result.empty() ? "none" : result;
}

void require_one(const Feature& feature, size_t axis) {
  if (!AxisSizes::of(feature, axis).contains(1)) {
    refuse(fmt::format("axis {} of '{}' must be 1", axis, feature.name));
  }
}

// What the inputs are, by type, rank and, where those do not tell, name.
struct Inputs {
  const Feature *ids = nullptr, *hidden = nullptr, *mask = nullptr, *update_mask = nullptr,
                *padding_mask = nullptr;
  std::vector<const Feature*> positions;
};

const Feature** place_of(Inputs& inputs, const Feature& input) {
  const bool is_float = mil::is_float(input.data_type);
  const bool is_mask = names_contain(input, "mask");
  switch (rank(input)) {
    case 2:
      if (is_mask) return &inputs.padding_mask;
      return input.data_type == mil::DataType::Int32 ? &inputs.ids : nullptr;
    case 3:
      return is_float ? &inputs.hidden : nullptr;
    case 4:
      if (!is_float || names_contain(input, "cache")) return nullptr;
      return names_contain(input, "update") ? &inputs.update_mask : &inputs.mask;
    default:
      return nullptr;
  }
}

Inputs sort_inputs(const mil::FunctionDescription& function) {
  Inputs inputs;
  for (const Feature& input : function.inputs) {
    const bool is_array = input.kind == Feature::Kind::MultiArray;
    if (is_array && rank(input) == 1 && input.data_type == mil::DataType::Int32 &&
        names_contain(input, "pos")) {
      inputs.positions.push_back(&input);
      continue;
    }
    const Feature** place = is_array ? place_of(inputs, input) : nullptr;
    if (place != nullptr && *place == nullptr) {
      *place = &input;
    } else if (!input.optional) {
      const bool cache = names_contain(input, "cache");
      refuse(fmt::format(
          "it needs an input '{}'{}", input.name,
          cache ? ": caches as inputs are read in the windowed family only" : " of another kind"));
    }
  }
  if ((inputs.ids == nullptr) == (inputs.hidden == nullptr)) {
    refuse(fmt::format(
        "neither token ids, int32 (1, q), nor hidden states, float (1, q, width), alone; inputs: "
        "{}",
        names(function.inputs)));
  }
  return inputs;
}

void read_positions(StepSchema& schema, const std::vector<const Feature*>& inputs) {
  for (const Feature* input : inputs) {
    const AxisSizes sizes = AxisSizes::of(*input, 0);
    const bool one = sizes.largest() == 1;
    const bool single = schema.query.largest() == 1;
    // With one token both are the same number.
    const bool first =
        one && (!single || names_contain(*input, "current") || !schema.positions.empty());
    std::string& place = first ? schema.first_position : schema.positions;
    if (!place.empty()) refuse(fmt::format("'{}' and '{}' both are positions", place, input->name));
    place = input->name;
    if (!first) schema.query = schema.query.intersect(sizes);
  }
}

void read_outputs(StepSchema& schema, const mil::FunctionDescription& function) {
  for (const Feature& output : function.outputs) {
    if (output.kind != Feature::Kind::MultiArray) continue;
    if (names_contain(output, "argmax")) {
      (mil::is_float(output.data_type) ? schema.argmax_value : schema.argmax_index) = output.name;
      continue;
    }
    if (!mil::is_float(output.data_type)) continue;
    const bool hidden =
        names_contain(output, "hidden") ||
        (!schema.takes_ids && schema.has_states && !names_contain(output, "logits"));
    if (!hidden) {
      schema.logits.push_back(output.name);
      continue;
    }
    if (!schema.hidden.empty()) continue;
    schema.hidden = output.name;
    if (rank(output) == 3 && output.enumerated_shapes.empty()) {
      schema.hidden_rows = output.ranges.empty() ? output.shape[1] : 0;
      schema.hidden_width = AxisSizes::of(output, 2).largest();
    }
  }
  sort_by_number(schema.logits);
  if (schema.argmax_index.empty() != schema.argmax_value.empty()) {
    refuse("argmax_idx and argmax_val belong together");
  }
  if (schema.hidden.empty() && schema.logits.empty() && !schema.gives_argmax()) {
    refuse(fmt::format("no float output, outputs: {}", names(function.outputs)));
  }
}

}  // namespace

AxisSizes::AxisSizes(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
}

AxisSizes AxisSizes::of(const Feature& feature, size_t axis) {
  if (!feature.enumerated_shapes.empty()) {
    std::vector<int64_t> sizes;
    for (const auto& shape : feature.enumerated_shapes) {
      if (axis >= shape.size())
        refuse(fmt::format("'{}' has shapes of several ranks", feature.name));
      sizes.push_back(shape[axis]);
    }
    return AxisSizes(std::move(sizes));
  }
  if (axis < feature.ranges.size()) {
    SizeRange range = feature.ranges[axis];
    if (range.upper < 0) range.upper = std::numeric_limits<int32_t>::max();
    return AxisSizes(range);
  }
  return AxisSizes(std::vector<int64_t>{feature.shape.at(axis)});
}

int64_t AxisSizes::at_most(int64_t limit) const {
  if (sizes_.empty()) return limit < range_.lower ? 0 : std::min(limit, range_.upper);
  const auto above = std::upper_bound(sizes_.begin(), sizes_.end(), limit);
  return above == sizes_.begin() ? 0 : *(above - 1);
}

int64_t AxisSizes::at_least(int64_t limit) const {
  if (sizes_.empty()) return limit > range_.upper ? 0 : std::max(limit, range_.lower);
  const auto found = std::lower_bound(sizes_.begin(), sizes_.end(), limit);
  return found == sizes_.end() ? 0 : *found;
}

AxisSizes AxisSizes::intersect(const AxisSizes& other) const {
  if (sizes_.empty() && other.sizes_.empty()) {
    return AxisSizes(SizeRange{std::max(range_.lower, other.range_.lower),
                               std::min(range_.upper, other.range_.upper)});
  }
  const AxisSizes& listed = sizes_.empty() ? other : *this;
  const AxisSizes& filter = sizes_.empty() ? *this : other;
  AxisSizes result;
  for (const int64_t size : listed.sizes_) {
    if (filter.contains(size)) result.sizes_.push_back(size);
  }
  return result;
}

std::string AxisSizes::to_string() const {
  if (empty()) return "none";
  if (!sizes_.empty()) return fmt::format("{}", fmt::join(sizes_, " or "));
  if (range_.lower == range_.upper) return fmt::format("{}", range_.lower);
  return fmt::format("{} to {}", range_.lower, range_.upper);
}

int64_t trailing_number(const std::string& name) {
  const size_t last = name.find_last_not_of("0123456789");
  const size_t begin = last == name.npos ? 0 : last + 1;
  int64_t number = -1;
  std::from_chars(name.data() + begin, name.data() + name.size(), number);
  return number;
}

void sort_by_number(std::vector<std::string>& names) {
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return trailing_number(a) < trailing_number(b);
  });
}

StepSchema step_schema(const mil::FunctionDescription& function) {
  const Inputs inputs = sort_inputs(function);
  StepSchema schema;
  schema.function = function.name;
  schema.has_states = !function.states.empty();
  schema.takes_ids = inputs.ids != nullptr;
  const Feature& tokens = schema.takes_ids ? *inputs.ids : *inputs.hidden;
  schema.tokens = tokens.name;
  require_one(tokens, 0);
  schema.query = AxisSizes::of(tokens, 1);
  if (!schema.takes_ids) schema.width = AxisSizes::of(tokens, 2).largest();
  if (inputs.mask != nullptr) {
    schema.mask = inputs.mask->name;
    require_one(*inputs.mask, 0);
    require_one(*inputs.mask, 1);
    schema.query = schema.query.intersect(AxisSizes::of(*inputs.mask, 2));
    schema.end = AxisSizes::of(*inputs.mask, 3);
  }
  if (inputs.padding_mask != nullptr) {
    schema.padding_mask = inputs.padding_mask->name;
    require_one(*inputs.padding_mask, 0);
    schema.query = schema.query.intersect(AxisSizes::of(*inputs.padding_mask, 1));
  }
  if (inputs.update_mask != nullptr) {
    schema.update_mask = inputs.update_mask->name;
    schema.update_slots = AxisSizes::of(*inputs.update_mask, 2).largest();
    schema.query = schema.query.intersect(AxisSizes::of(*inputs.update_mask, 3));
  }
  read_positions(schema, inputs.positions);
  if (schema.query.empty() || schema.query.smallest() < 1) {
    refuse(fmt::format("'{}' and '{}' agree on no number of tokens", schema.tokens, schema.mask));
  }
  read_outputs(schema, function);
  return schema;
}

}  // namespace pippin::runtime
