#include "pippin/engine/lowering/reference_step.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
void lower_to_reference(Builder& builder, const mil::Operation& operation) {
  const auto refuse = [&](std::string_view why) {
    fail(ErrorCode::Unsupported, "{} (opset {}): {}", builder.where(operation),
         mil::to_string(builder.opset()), why);
  };
  const mil::OpDef* op = mil::find_op(operation.type(), builder.opset());
  if (op == nullptr) refuse("the op is not known");
  if (!op->pure || !operation.blocks().empty()) refuse("the engine has no rule for this op yet");
  std::vector<View> views;
  for (const auto& output : operation.outputs()) {
    const mil::ValueInfo& result = builder.info(output.get());
    if (result.kind != mil::ValueType::Kind::Tensor)
      refuse("results that are not tensors cannot be planned yet");
    views.push_back(builder.allocate(run_storage(result.type), result.shape));
  }
  const size_t num_outputs = views.size();
  std::vector<const mil::Var*> vars;
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& binding : argument) {
      const auto* var = std::get_if<mil::Var*>(&binding);
      if (var == nullptr || mil::constant_of(*var) != nullptr) continue;
      if (std::find(vars.begin(), vars.end(), *var) != vars.end()) continue;
      View view = builder.view(*var);
      if (is_float(view.storage)) view = builder.view_as(view, Storage::F32);
      views.push_back(builder.contiguous(view));
      vars.push_back(*var);
    }
  }
  log_debug("{}: no kernel, the reference runs it", builder.where(operation));
  const std::vector<View> outputs(views.begin(),
                                  views.begin() + static_cast<std::ptrdiff_t>(num_outputs));
  builder.emit(ReferenceNode{&operation, builder.opset(), std::move(vars)}, std::move(views),
               num_outputs);
  for (size_t i = 0; i < num_outputs; ++i) builder.define(operation.output(i), outputs[i]);
}

}  // namespace pippin::engine
