#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/runtime/stateful/model.h"

namespace pippin::runtime {
namespace {

[[noreturn]] void refuse_model(const std::string& what) {
  fail(ErrorCode::Unsupported,
       "not a stateful language model (ids and a causal mask in, caches as states, logits out): {}",
       what);
}

StepSchema checked_step(const mil::FunctionDescription& function) {
  StepSchema step;
  try {
    step = step_schema(function);
  } catch (const Error& error) {
    refuse_model(error.what());
  }
  if (!step.takes_ids) refuse_model(fmt::format("'{}' does not hold token ids", step.tokens));
  if (!step.gives_logits() && !step.gives_argmax()) {
    refuse_model(
        fmt::format("it gives no logits but '{}'; `pippin embed` runs encoders", step.hidden));
  }
  if (!step.has_states) return step;
  if (step.mask.empty()) refuse_model("no float input of shape (1, 1, q, end)");
  if (!step.end.is_range()) {
    refuse_model(fmt::format("the mask '{}' always has {} columns and no input says the position",
                             step.mask, step.end.to_string()));
  }
  if (step.end.smallest() > step.query.smallest()) {
    refuse_model(fmt::format("the last axis of '{}' must start at {}, it is {}", step.mask,
                             step.query.smallest(), step.end.to_string()));
  }
  return step;
}

}  // namespace

StatefulSchema stateful_schema(const std::vector<const mil::FunctionDescription*>& functions) {
  StatefulSchema schema;
  for (const mil::FunctionDescription* function : functions) {
    StepSchema step = checked_step(*function);
    const auto same = [&](const StepSchema& other) {
      return other.query.to_string() == step.query.to_string();
    };
    // If two functions take the same numbers of tokens, the first one (the default function) is
    // used.
    if (std::any_of(schema.steps.begin(), schema.steps.end(), same)) continue;
    if (!schema.steps.empty() && step.has_states != schema.steps.front().has_states) {
      refuse_model(fmt::format("function {} has a cache and another has none",
                               step.has_states ? step.function : schema.steps.front().function));
    }
    schema.steps.push_back(std::move(step));
  }
  if (schema.steps.empty()) refuse_model("it has no functions");
  std::stable_sort(schema.steps.begin(), schema.steps.end(), [](const auto& a, const auto& b) {
    return a.query.smallest() < b.query.smallest();
  });
  schema.has_cache = schema.steps.front().has_states;
  for (const StepSchema& step : schema.steps) {
    const int64_t length = schema.has_cache ? step.end.largest() : step.query.largest();
    schema.context = schema.context == 0 || !schema.has_cache ? std::max(schema.context, length)
                                                              : std::min(schema.context, length);
  }
  const StepSchema& smallest = schema.steps.front();
  if (smallest.query.smallest() > schema.context) {
    refuse_model(fmt::format("'{}' takes {} tokens at a time, its cache holds {}", smallest.tokens,
                             smallest.query.to_string(), schema.context));
  }
  return schema;
}

}  // namespace pippin::runtime
