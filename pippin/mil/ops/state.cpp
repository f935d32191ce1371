// States: tensors that outlive a run.
#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

const ValueInfo& state_input(InferContext& context) {
  const ValueInfo& state = context.input("input");
  if (state.kind != ValueType::Kind::State) context.reject("input is not a state");
  return state;
}

Infos infer_read(InferContext& context) {
  const ValueInfo& state = state_input(context);
  return one(tensor_info(state.type, state.shape));
}
Tensors evaluate_read(EvalContext& context) {
  return one(context.state("input"));
}

Infos infer_write(InferContext& context) {
  const ValueInfo &state = state_input(context), &data = context.input("data");
  if (state.type != data.type || state.shape.size() != data.shape.size()) {
    context.reject("{} {} into a state of {} {}", to_string(data.type), to_string(data.shape),
                   to_string(state.type), to_string(state.shape));
  }
  for (size_t i = 0; i < data.shape.size(); ++i) {
    context.require_equal(data.shape[i], state.shape[i], "data has the state's shape");
  }
  return {};
}
Tensors evaluate_write(EvalContext& context) {
  Tensor& state = context.state("input");
  const Tensor& data = context.input("data");
  if (data.shape != state.shape) context.reject("data does not have the state's shape");
  state.values = data.values;
  return {};
}

}  // namespace

std::vector<OpDef> state_ops() {
  return {
      {.name = "read_state",
       .since = Opset::CoreML8,
       .parameters = {state_parameter("input")},
       .infer = infer_read,
       .evaluate = evaluate_read,
       .doc = "A copy of the state as it is at this place in the order of operations.",
       .pure = false},
      {.name = "write_state",
       .since = Opset::CoreML8,
       .parameters = {state_parameter("input"), tensor("data")},
       .infer = infer_write,
       .evaluate = evaluate_write,
       .doc = "Replaces the state's contents; values read before keep the old ones.",
       .num_outputs = 0,
       .pure = false},
  };
}

}  // namespace pippin::mil
