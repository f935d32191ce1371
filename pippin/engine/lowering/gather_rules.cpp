// gather: embeddings and table look-ups.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/engine/steps/copy_step.h"
#include "pippin/engine/weights/quantized_weight.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// views: y [outer, indices, inner], x [outer, axis, inner], indices [indices]. Negative indices
// count from the end; what is still outside reads the nearest element, so that no index leaves the
// memory.
class GatherStep : public Step {
 public:
  explicit GatherStep(const CpuFeatures& cpu) : cpu_(cpu) {}
  std::string name() const override { return "gather"; }
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const Operand& indices = context.operands[2];
    const int64_t axis = x.shape[1];
    if (axis == 0) return;
    Operand to = y, from = x;
    to.rank = from.rank = 1;
    to.shape[0] = from.shape[0] = y.shape[2];
    to.strides[0] = y.strides[2];
    from.strides[0] = x.strides[2];
    for (int64_t i = 0; i < y.shape[1]; ++i) {
      int64_t index = indices.ints()[i * indices.strides[0]];
      if (index < 0) index += axis;
      index = std::clamp<int64_t>(index, 0, axis - 1);
      for (int64_t outer = 0; outer < y.shape[0]; ++outer) {
        to.data = y.data + (outer * y.strides[0] + i * y.strides[1]) * element_size(y.storage);
        from.data =
            x.data + (outer * x.strides[0] + index * x.strides[1]) * element_size(x.storage);
        copy_operand(to, from, cpu_);
      }
    }
  }

 private:
  CpuFeatures cpu_;
};

// Merges the axes of `view` into [outer, axis, inner]; copies if it must.
View around_axis(Builder& builder, const View& view, int64_t axis) {
  const auto split = static_cast<size_t>(axis);
  const Shape outer(view.shape.begin(), view.shape.begin() + axis);
  const Shape inner(view.shape.begin() + axis + 1, view.shape.end());
  const Shape shape = {mil::num_elements(outer), view.shape[split], mil::num_elements(inner)};
  if (auto merged = reshape_view(view, shape)) return *merged;
  return *reshape_view(builder.contiguous(view), shape);
}

void gather(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const Shape x_shape = builder.shape(operation, "x");
  const View indices = builder.contiguous(builder.ints(operation, "indices"));
  const int64_t axis =
      normalize_axis(int_param(builder, operation, "axis"), static_cast<int64_t>(x_shape.size()));
  if (operation.find_input("batch_dims") != nullptr &&
      int_param(builder, operation, "batch_dims") != 0) {
    fail(ErrorCode::Unsupported, "{}: batch_dims is not 0", builder.where(operation));
  }
  if (operation.find_input("validate_indices") != nullptr &&
      bool_param(builder, operation, "validate_indices")) {
    // The value rule refuses an index that is outside.
    fail(ErrorCode::Unsupported, "{}: indices are to be validated", builder.where(operation));
  }
  const View flat = *reshape_view(indices, {mil::num_elements(indices.shape)});
  if (const auto quantized = builder.quantized(operation, "x");
      quantized != nullptr && axis == 0 && x_shape[0] == Dim(quantized->matrix.n)) {
    // Only the rows that are asked for are expanded.
    const View y = builder.allocate(Storage::F32, {flat.shape[0], Dim(quantized->matrix.k)});
    builder.add(make_quantized_gather(quantized, builder.cpu()), {y, flat});
    builder.define_output(operation, *reshape_view(y, output.shape));
    return;
  }
  const View table = around_axis(builder, builder.view(operation, "x"), axis);
  const View y =
      builder.allocate(run_storage(output.type), {table.shape[0], flat.shape[0], table.shape[2]});
  builder.emit<GatherStep>({y, table, flat}, builder.cpu());
  builder.define_output(operation, *reshape_view(y, output.shape));
}

}  // namespace

void add_gather_rules(Rules& rules) {
  rules["gather"] = gather;
}

}  // namespace pippin::engine
