#include "pippin/runtime/encoder_schema.h"

#include <algorithm>

#include "pippin/base/lower_case.h"
#include "pippin/families/encoder.h"

namespace pippin::runtime {
namespace {

namespace family = families::encoder;
using mil::Feature;

size_t rank(const Feature& feature) {
  if (!feature.enumerated_shapes.empty()) return feature.enumerated_shapes.front().size();
  return std::max(feature.shape.size(), feature.ranges.size());
}

bool has_word(const Feature& feature, std::string_view word) {
  return to_lower(feature.name).find(word) != std::string::npos;
}

// The field for the name of such an input; null for other inputs.
std::string* place_of(EncoderSchema& schema, const Feature& input) {
  if (input.name == family::kPoolingMask) return &schema.pooling_mask;
  if (input.name == family::kTaskTypes) return &schema.task_types;
  if (has_word(input, "mask")) return &schema.mask;
  if (has_word(input, "type") || has_word(input, "segment")) return &schema.types;
  if (has_word(input, "pos")) return &schema.positions;
  return has_word(input, "id") || has_word(input, "token") ? &schema.ids : nullptr;
}

// The rank of an output. The program knows it if the description does not.
size_t output_rank(const mil::Model& model, const Feature& output) {
  if (rank(output) > 0) return rank(output);
  const auto found = model.program.functions.find(model.default_function);
  if (found == model.program.functions.end()) return 0;
  for (const mil::Var* var : found->second->block().outputs()) {
    if (var->name == output.name) return var->type.dims.size();
  }
  return 0;
}

// Reads the sizes of both axes. Enumerated shapes use one batch size: the most frequent one.
void read_sizes(EncoderSchema& schema, const Feature& ids) {
  schema.batch = AxisSizes::of(ids, 0);
  schema.length = AxisSizes::of(ids, 1);
  if (ids.enumerated_shapes.empty()) return;
  const int64_t batch = schema.batch.smallest();
  std::vector<int64_t> lengths;
  for (const auto& shape : ids.enumerated_shapes) {
    if (shape[0] == batch) lengths.push_back(shape[1]);
  }
  schema.batch = AxisSizes(std::vector<int64_t>{batch});
  schema.length = AxisSizes(std::move(lengths));
}

bool find_output(EncoderSchema& schema, const mil::Model& model,
                 const std::vector<Feature>& outputs) {
  const Feature *embedding = nullptr, *logits = nullptr, *states = nullptr, *tokens = nullptr;
  bool of_tokens = false;  // logits: one row for each token
  for (const Feature& output : outputs) {
    if (output.kind != Feature::Kind::MultiArray || !mil::is_float(output.data_type)) continue;
    const size_t axes = output_rank(model, output);
    const bool is_named = has_word(output, "embed") || has_word(output, "pool");
    if (output.name == family::kTokenEmbeddings && axes == 3) {
      tokens = &output;
    } else if (output.name == family::kEmbedding ||
               (axes == 2 && is_named && embedding == nullptr)) {
      embedding = &output;
    } else if (has_word(output, "logit")) {
      of_tokens = axes != 2 && axes != 0;
      if (!of_tokens) logits = &output;
    } else if (axes == 3 && states == nullptr) {
      states = &output;
    }
  }
  if (of_tokens && embedding == nullptr) return false;  // a language model
  const Feature* chosen = tokens != nullptr      ? tokens
                          : embedding != nullptr ? embedding
                          : logits != nullptr    ? logits
                                                 : states;
  if (chosen == nullptr) return false;
  schema.output = chosen->name;
  schema.scores = chosen == logits;
  schema.gives_states = chosen == states;
  schema.of_tokens = chosen == tokens;
  return true;
}

}  // namespace

std::optional<EncoderSchema> encoder_schema(const mil::Model& model) {
  if (model.kind != mil::ModelKind::MlProgram) return std::nullopt;
  const mil::FunctionDescription& function = model.description(model.default_function);
  if (!function.states.empty()) return std::nullopt;
  EncoderSchema schema;
  const Feature* ids = nullptr;
  for (const Feature& input : function.inputs) {
    const bool fits = input.kind == Feature::Kind::MultiArray && rank(input) == 2;
    std::string* place = fits ? place_of(schema, input) : nullptr;
    if (place == nullptr || !place->empty()) {
      if (input.optional) continue;
      return std::nullopt;
    }
    *place = input.name;
    if (place == &schema.ids) ids = &input;
  }
  if (ids == nullptr || schema.mask.empty()) return std::nullopt;
  if (!find_output(schema, model, function.outputs)) return std::nullopt;
  read_sizes(schema, *ids);
  return schema;
}

}  // namespace pippin::runtime
