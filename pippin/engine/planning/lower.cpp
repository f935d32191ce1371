#include <algorithm>

#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/lowering/reference_step.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/engine/planning/planning.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

// Whether an operation is more than a read or write of a state.
bool computes(const Builder& builder, const mil::Operation& operation) {
  const mil::OpDef* op = mil::find_op(operation.type(), builder.opset());
  return op != nullptr && op->pure && operation.blocks().empty() &&
         operation.type() != "slice_update";
}

}  // namespace

void lower(Builder& builder, const mil::Operation& operation) {
  if (operation.type() == "const") return;  // converted where it is used
  builder.check_planned_sizes(operation);
  // Shape arithmetic: every result is known once the dimensions are.
  const auto known = [&](const auto& output) {
    return builder.info(output.get()).elements.has_value();
  };
  if (!operation.outputs().empty() &&
      std::all_of(operation.outputs().begin(), operation.outputs().end(), known)) {
    return;
  }
  if (mil::has_trait(operation, mil::Trait::Compressed) &&
      (builder.keep_quantized(operation) || builder.expand_large(operation))) {
    return;
  }
  if (builder.fold(operation)) return;
  if (builder.precision() == Precision::Reference && computes(builder, operation)) {
    lower_to_reference(builder, operation);
    return;
  }
  if (builder.fusion() && (builder.reuse(operation) || fuse(builder, operation))) return;
  lower_plainly(builder, operation);
}

}  // namespace pippin::engine
