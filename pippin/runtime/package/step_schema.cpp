#include "pippin/runtime/package/step_schema.h"

#include <algorithm>
#include <charconv>

#include "pippin/base/error.h"
#include "pippin/base/lower_case.h"
#include "pippin/families/stateful.h"

namespace pippin::runtime {
namespace {

using mil::Feature;

[[noreturn]] void refuse(const std::string& what) {
  fail(ErrorCode::Unsupported, "not a language model's step: {}", what);
}

size_t rank(const Feature& feature) {
  if (!feature.enumerated_shapes.empty()) return feature.enumerated_shapes.front().size();
  return std::max(feature.shape.size(), feature.ranges.size());
}

bool names_contain(const Feature& feature, std::string_view part) {
  return to_lower(feature.name).find(part) != std::string::npos;
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

// The inputs by purpose, found by type and rank, and by name if those are ambiguous.
struct Inputs {
  const Feature *ids = nullptr, *hidden = nullptr, *mask = nullptr, *update_mask = nullptr,
                *padding_mask = nullptr, *output_place = nullptr, *rows = nullptr,
                *are_rows = nullptr, *coordinates = nullptr, *run_starts = nullptr,
                *previous = nullptr, *adapters = nullptr;
  std::vector<const Feature*> positions;
};

bool is_position(const Feature& input) {
  return rank(input) <= 2 && names_contain(input, "pos") && !names_contain(input, "mask");
}

bool is_previous(const Feature& input) {
  return input.name == families::stateful::kPreviousStates && mil::is_float(input.data_type) &&
         rank(input) == 3;
}

bool takes_rows(const mil::FunctionDescription& function) {
  return std::any_of(function.inputs.begin(), function.inputs.end(), [](const Feature& input) {
    return input.name == families::stateful::kInputRows;
  });
}

// The inputs of a function with rows, found by their names.
const Feature** row_place_of(Inputs& inputs, const Feature& input) {
  namespace stateful = families::stateful;
  const bool is_float = mil::is_float(input.data_type);
  if (input.name == stateful::kInputRows && is_float && rank(input) == 3) return &inputs.rows;
  if (input.name == stateful::kAreRows && is_float && rank(input) == 3) return &inputs.are_rows;
  if (input.name == stateful::kCoordinates && !is_float && rank(input) == 2) {
    return &inputs.coordinates;
  }
  const bool is_start = input.name == stateful::kRunStarts && !is_float && rank(input) == 1;
  return is_start ? &inputs.run_starts : nullptr;
}

const Feature** place_of(Inputs& inputs, const Feature& input) {
  const bool is_float = mil::is_float(input.data_type);
  const bool is_mask = names_contain(input, "mask");
  switch (rank(input)) {
    case 1:
      if (names_contain(input, "output") || names_contain(input, "last")) {
        return is_float ? nullptr : &inputs.output_place;
      }
      return names_contain(input, "ids") ? &inputs.ids : nullptr;
    case 2:
      if (is_mask) return &inputs.padding_mask;
      // Floats are ids only if their name says so: (1, width) may be anything.
      return !is_float || names_contain(input, "id") || names_contain(input, "token") ? &inputs.ids
                                                                                      : nullptr;
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
  const bool with_rows = takes_rows(function);
  for (const Feature& input : function.inputs) {
    const bool is_array = input.kind == Feature::Kind::MultiArray;
    if (is_array && is_previous(input)) {
      inputs.previous = &input;
      continue;
    }
    const Feature** const row_place = with_rows && is_array ? row_place_of(inputs, input) : nullptr;
    if (row_place != nullptr) {
      *row_place = &input;
      continue;
    }
    if (is_array && input.name == families::stateful::kAdapterNumbers && rank(input) == 1) {
      inputs.adapters = &input;
      continue;
    }
    if (is_array && is_position(input)) {
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
        "neither token ids, (1, q), nor hidden states, float (1, q, width), alone; inputs: "
        "{}",
        names(function.inputs)));
  }
  return inputs;
}

void read_positions(StepSchema& schema, const std::vector<const Feature*>& inputs) {
  for (const Feature* input : inputs) {
    if (rank(*input) == 2) require_one(*input, 0);
    const AxisSizes sizes = AxisSizes::of(*input, rank(*input) - 1);
    const bool one = sizes.largest() == 1;
    const bool single = schema.query.largest() == 1;
    // With one token, both inputs have the same shape.
    const bool first =
        one && (!single || names_contain(*input, "current") || !schema.positions.empty());
    std::string& place = first ? schema.first_position : schema.positions;
    if (!place.empty()) refuse(fmt::format("'{}' and '{}' both are positions", place, input->name));
    if (first && rank(*input) == 2) refuse(fmt::format("'{}' has two axes", input->name));
    place = input->name;
    if (first) continue;
    schema.positions_rank = rank(*input);
    schema.query = schema.query.intersect(sizes);
  }
}

void read_rows(StepSchema& schema, const Inputs& inputs) {
  if (inputs.rows == nullptr) return;
  schema.rows = inputs.rows->name;
  require_one(*inputs.rows, 0);
  schema.query = schema.query.intersect(AxisSizes::of(*inputs.rows, 1));
  schema.row_width = AxisSizes::of(*inputs.rows, 2).largest();
  if (inputs.are_rows == nullptr) {
    refuse(fmt::format("'{}' without '{}'", schema.rows, families::stateful::kAreRows));
  }
  schema.are_rows = inputs.are_rows->name;
  require_one(*inputs.are_rows, 0);
  require_one(*inputs.are_rows, 2);
  schema.query = schema.query.intersect(AxisSizes::of(*inputs.are_rows, 1));
  if (inputs.coordinates != nullptr) {
    schema.coordinates = inputs.coordinates->name;
    if (!AxisSizes::of(*inputs.coordinates, 0).contains(3)) {
      refuse(fmt::format("axis 0 of '{}' must be 3", schema.coordinates));
    }
    schema.query = schema.query.intersect(AxisSizes::of(*inputs.coordinates, 1));
  }
  if (inputs.run_starts == nullptr) return;
  schema.run_starts = inputs.run_starts->name;
  schema.query = schema.query.intersect(AxisSizes::of(*inputs.run_starts, 0));
}

void read_previous(StepSchema& schema, const Feature* input) {
  if (input == nullptr) return;
  if (!schema.takes_ids) refuse(fmt::format("'{}' without token ids", input->name));
  schema.previous = input->name;
  require_one(*input, 0);
  schema.query = schema.query.intersect(AxisSizes::of(*input, 1));
  schema.previous_width = AxisSizes::of(*input, 2).largest();
}

// The product of the declared sizes; 0 if they are not declared or overflow.
int64_t declared_elements(const Feature& feature) {
  if (feature.shape.empty() || !feature.ranges.empty() || !feature.enumerated_shapes.empty()) {
    return 0;
  }
  int64_t count = 1;
  for (const int64_t size : feature.shape) count *= size;
  return count;
}

bool is_argmax_index(const Feature& output) {
  if (output.data_type != mil::DataType::Int32) return false;
  constexpr std::string_view kWords[] = {"argmax", "token", "next", "id", "pred"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return names_contain(output, word); });
}

// One number, the logit of the chosen token.
bool is_argmax_value(const Feature& output) {
  if (!mil::is_float(output.data_type)) return false;
  if (names_contain(output, "argmax")) return true;
  const int64_t count = declared_elements(output);
  if (!names_contain(output, "logit")) return false;
  return count == 1 ||
         (count == 0 && names_contain(output, "token_logit") && !names_contain(output, "logits"));
}

void read_outputs(StepSchema& schema, const mil::FunctionDescription& function) {
  for (const Feature& output : function.outputs) {
    if (output.kind != Feature::Kind::MultiArray) continue;
    const bool is_index = is_argmax_index(output);
    if (is_index || is_argmax_value(output)) {
      std::string& place = is_index ? schema.argmax_index : schema.argmax_value;
      if (place.empty()) place = output.name;
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
  if (schema.argmax_index.empty() && !schema.argmax_value.empty()) {
    refuse(fmt::format("'{}' is the logit of a token that no output tells", schema.argmax_value));
  }
  if (schema.hidden.empty() && schema.logits.empty() && !schema.gives_argmax()) {
    refuse(fmt::format("no float output, outputs: {}", names(function.outputs)));
  }
}

}  // namespace

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
  schema.tokens_rank = rank(tokens);
  if (schema.tokens_rank > 1) require_one(tokens, 0);
  schema.query = AxisSizes::of(tokens, schema.tokens_rank == 1 ? 0 : 1);
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
  if (inputs.output_place != nullptr) {
    schema.output_place = inputs.output_place->name;
    require_one(*inputs.output_place, 0);
  }
  if (inputs.adapters != nullptr) {
    schema.adapters = inputs.adapters->name;
    schema.num_adapters = AxisSizes::of(*inputs.adapters, 0).largest();
  }
  read_positions(schema, inputs.positions);
  read_rows(schema, inputs);
  read_previous(schema, inputs.previous);
  if (schema.query.empty() || schema.query.smallest() < 1) {
    refuse(fmt::format("'{}' and '{}' agree on no number of tokens", schema.tokens, schema.mask));
  }
  read_outputs(schema, function);
  return schema;
}

}  // namespace pippin::runtime
