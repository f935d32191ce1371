// Ops with nested blocks.
#include <set>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

// The facts that hold for both alternatives; only the run can decide between sizes that differ.
ValueInfo merged(InferContext& context, size_t output, const ValueInfo& a, const ValueInfo& b) {
  if (a.kind != b.kind || a.type != b.type || a.shape.size() != b.shape.size()) {
    context.reject("output {} is {} {} or {} {}", output, to_string(a.type), to_string(a.shape),
                   to_string(b.type), to_string(b.shape));
  }
  ValueInfo result = a;
  result.constant = nullptr;
  if (a.elements != b.elements) result.elements.reset();
  if (a.length != b.length) result.length.reset();
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] == b.shape[i]) continue;
    result.shape[i] = context.data_dependent(fmt::format("output{}.dim{}", output, i),
                                             maximum(a.shape[i], b.shape[i]));
  }
  return result;
}

Infos infer_cond(InferContext& context) {
  const auto predicate = context.known("pred");
  Infos yes = context.infer_block(0, {});
  Infos no = context.infer_block(1, {});
  if (yes.size() != no.size()) context.reject("the blocks give {} and {}", yes.size(), no.size());
  Infos outputs;
  for (size_t i = 0; i < yes.size(); ++i) {
    const bool known = predicate && predicate->size() == 1 && predicate->front().is_constant();
    if (known) {
      outputs.push_back(predicate->front() == Dim(0) ? no[i] : yes[i]);
      outputs.back().constant = nullptr;
    } else {
      outputs.push_back(merged(context, i, yes[i], no[i]));
    }
  }
  return outputs;
}

bool truth(const OpContext& context, const Tensor& value) {
  if (value.size() != 1) context.reject("a condition of {} elements", value.size());
  return value.values.at(0) != 0;
}

Tensors evaluate_cond(EvalContext& context) {
  return context.run_block(truth(context, context.input("pred")) ? 0 : 1, {});
}

// Drops the values known from the first iteration, since the body may change them.
bool forget_values(ValueInfo& var) {
  const bool known = var.elements || var.constant != nullptr || var.length;
  var.elements.reset();
  var.constant = nullptr;
  var.length.reset();
  return known;
}

// Infers the body with the known values of the variables. If that fails because of those values,
// infers it without them: they may hold for the first iteration only, and the loop may have no
// iterations.
Infos infer_body(InferContext& context, Infos& vars) {
  try {
    return context.infer_block(1, vars);
  } catch (const Error& error) {
    bool known = false;
    for (ValueInfo& var : vars) known = forget_values(var) || known;
    if (!known || error.code() == ErrorCode::LimitExceeded) throw;
    return context.infer_block(1, vars);
  }
}

// Weakens `var` so that it also holds for `next`. Returns false if it already did.
bool widen(InferContext& context, std::set<std::pair<size_t, size_t>>& open, size_t v,
           ValueInfo& var, const ValueInfo& next) {
  if (next.kind != var.kind || next.type != var.type || next.shape.size() != var.shape.size()) {
    context.reject("variable {} turns from {} {} to {} {}", v, to_string(var.type),
                   to_string(var.shape), to_string(next.type), to_string(next.shape));
  }
  bool changed = false;
  for (size_t i = 0; i < var.shape.size(); ++i) {
    Dim& size = var.shape[i];
    if (size == next.shape[i] || !open.emplace(v, i).second) continue;
    size = context.data_dependent(fmt::format("loop{}.dim{}", v, i), Dim(INT64_MAX));
    changed = true;
  }
  if (var.elements != next.elements || var.constant != next.constant || var.length != next.length ||
      changed) {
    changed = forget_values(var) || changed;
  }
  return changed;
}

Infos infer_while(InferContext& context) {
  Infos vars;
  for (const ValueInfo* info : context.inputs("loop_vars")) vars.push_back(*info);
  // A value that the body changes is unknown: infer again with that until nothing changes.
  std::set<std::pair<size_t, size_t>> open;  // the sizes that the body changes
  for (bool stable = false; !stable;) {
    const Infos next = infer_body(context, vars);
    if (next.size() != vars.size()) {
      context.reject("the body gives {} values for {} variables", next.size(), vars.size());
    }
    stable = true;
    for (size_t v = 0; v < vars.size(); ++v) {
      if (widen(context, open, v, vars[v], next[v])) stable = false;
    }
  }
  const Infos condition = context.infer_block(0, vars);
  if (condition.size() != 1 || condition[0].type != DataType::Bool) {
    context.reject("the condition must be one bool");
  }
  return vars;
}

Tensors evaluate_while(EvalContext& context) {
  Tensors vars;
  for (const Tensor* tensor : context.inputs("loop_vars")) vars.push_back(*tensor);
  for (;;) {
    context.count_loop_turn();
    const Tensors condition = context.run_block(0, vars);
    if (condition.size() != 1) context.reject("the condition gives {} values", condition.size());
    if (!truth(context, condition[0])) return vars;
    vars = context.run_block(1, std::move(vars));
  }
}

}  // namespace

std::vector<OpDef> control_flow_ops() {
  return {
      {.name = "cond",
       .parameters = {tensor("pred", "b")},
       .infer = infer_cond,
       .evaluate = evaluate_cond,
       .doc = "Runs its first block if pred is true, else its second; gives that block's outputs.",
       .num_outputs = -1},
      {.name = "while_loop",
       .parameters = {tuple("loop_vars", "fibsl")},
       .infer = infer_while,
       .evaluate = evaluate_while,
       .doc = "While the first block, given the variables, gives true, replaces them by the second "
              "block's outputs. Gives the last ones.",
       .num_outputs = -1},
  };
}

}  // namespace pippin::mil
