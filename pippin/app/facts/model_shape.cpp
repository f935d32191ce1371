#include "pippin/app/facts/model_shape.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "pippin/app/facts/model_cost.h"
#include "pippin/app/open/programs.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/families/anemll.h"
#include "pippin/families/coreml_llm.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/families/windowed.h"
#include "pippin/runtime/open/loaded_model.h"

namespace pippin::app {
namespace {

// The logits of the function that returns them: the sum over their parts; 0: none here.
int64_t vocabulary_of(const mil::Model& model) {
  for (const mil::FunctionDescription& function : model.functions) {
    int64_t size = 0;
    for (const mil::Var* output : model.program.function(function.name).block().outputs()) {
      const auto& dims = output->type.dims;  // some are not known
      if (output->name.find("logits") == std::string::npos || dims.empty()) continue;
      size += std::max<int64_t>(*std::max_element(dims.begin(), dims.end()), 0);
    }
    if (size > 0) return size;
  }
  return 0;
}

// The largest first axis of the states with a row for each token; 1 without one.
int64_t layers_of(const mil::Model& model) {
  int64_t layers = 1;
  for (const mil::FunctionDescription& function : model.functions) {
    for (const mil::Feature& state : function.states) {
      if (state.shape.size() >= 4) layers = std::max(layers, state.shape.front());
    }
  }
  return layers;
}

// The most tokens of a sequence: the last axis of the mask, or what the program says; 0: unknown.
int64_t context_of(const mil::Model& model) {
  constexpr std::array<std::string_view, 4> kMasks = {
      families::stateful::kMask, families::anemll::kMask, families::windowed::kMask,
      families::coreml_llm::kFullMask};
  int64_t context = 0;
  for (const mil::FunctionDescription& function : model.functions) {
    for (const mil::Feature& input : function.inputs) {
      if (std::find(kMasks.begin(), kMasks.end(), input.name) == kMasks.end()) continue;
      if (!input.shape.empty()) context = std::max(context, input.shape.back());
      if (!input.ranges.empty()) context = std::max(context, input.ranges.back().upper);
    }
  }
  const auto& metadata = model.metadata.user_defined;
  int64_t own = 0;
  const auto found = metadata.find(families::kOwnContextKey);
  if (found != metadata.end() && parse_number(found->second, own)) context = std::max(context, own);
  return context;
}

uint64_t cache_of_token(const ModelCost& cost) {
  uint64_t bytes = 0;
  for (const ModelCost::Cache& cache : cost.caches) {
    if (cache.slots > 0) bytes += cache.bytes / static_cast<uint64_t>(cache.slots);
  }
  return bytes;
}

// The weights of experts that a token does not use.
uint64_t unread_experts(const ModelCost& cost) {
  double bytes = 0;
  for (const ModelCost::Experts& experts : cost.experts) {
    bytes += static_cast<double>(experts.bytes) * (1 - experts.share);
  }
  return static_cast<uint64_t>(bytes);
}

double operations_of(const ModelCost& cost) {
  return 2.0 * static_cast<double>(cost.multiplied - cost.multiplied_for_logits);
}

void add_head(const ModelCost& cost, int64_t vocabulary, ModelShape& shape) {
  if (vocabulary == 0) return;
  shape.vocabulary = vocabulary;
  shape.logit_operations += 2.0 * static_cast<double>(cost.multiplied_for_logits);
  shape.width = cost.multiplied_for_logits / vocabulary;
}

// The layers of a program, and its tables and its head, which stay with the first and the last.
void add_layers(const mil::Model& model, ModelShape& shape) {
  const ModelCost cost = model_cost({&model});
  add_head(cost, vocabulary_of(model), shape);
  const int64_t layers = layers_of(model);
  const double head_share = cost.multiplied > 0 ? static_cast<double>(cost.multiplied_for_logits) /
                                                      static_cast<double>(cost.multiplied)
                                                : 0;
  const auto head = static_cast<uint64_t>(head_share * static_cast<double>(cost.weight_bytes));
  const uint64_t unread = unread_experts(cost);
  const uint64_t kept = cost.weight_bytes + unread;
  const uint64_t tables = cost.stored_bytes - std::min(cost.stored_bytes, kept);
  const auto count = static_cast<uint64_t>(layers);
  const uint64_t each = (cost.weight_bytes - head) / count;
  for (int64_t i = 0; i < layers; ++i) {
    PlannedPart& part = shape.parts.emplace_back();
    part.name = fmt::format("layer {}", i);
    part.stored_bytes =
        each + unread / count + (i == 0 ? tables : 0) + (i + 1 == layers ? head : 0);
    part.read_bytes = each + (i + 1 == layers ? head : 0);
    part.operations = operations_of(cost) / static_cast<double>(layers);
    part.cache_bytes = cache_of_token(cost) / count;
    part.products = static_cast<double>(cost.products) / static_cast<double>(layers);
  }
}

}  // namespace

ModelShape read_shape(const ModelChoice& choice) {
  const std::vector<NamedProgram> programs = read_programs(choice);
  ModelShape shape;
  for (const NamedProgram& program : programs) {
    shape.context = std::max(shape.context, context_of(program.model));
  }
  if (programs.size() == 1) {
    if (!runtime::is_language_model(programs.front().model)) {
      fail(ErrorCode::Unsupported,
           "{}: not a language model, which takes tokens and returns the logits of the next one",
           choice.path);
    }
    add_layers(programs.front().model, shape);
    return shape;
  }
  shape.is_one_program = false;
  // Every chunk declares the whole cache, of which it has an equal part.
  uint64_t cache = 0;
  size_t with_cache = 0;
  for (const NamedProgram& program : programs) {
    const ModelCost cost = model_cost({&program.model});
    add_head(cost, vocabulary_of(program.model), shape);
    PlannedPart& part = shape.parts.emplace_back();
    part.name = program.name;
    part.stored_bytes = cost.stored_bytes;
    part.read_bytes = cost.weight_bytes;
    part.operations = operations_of(cost);
    part.cache_bytes = cache_of_token(cost);
    part.products = static_cast<double>(cost.products);
    cache = std::max(cache, part.cache_bytes);
    if (part.cache_bytes > 0) ++with_cache;
  }
  for (PlannedPart& part : shape.parts) {
    if (part.cache_bytes > 0) part.cache_bytes = cache / with_cache;
  }
  return shape;
}

}  // namespace pippin::app
