// scaled_dot_product_attention through the fused kernel.
#include <cmath>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/engine/rules.h"
#include "pippin/kernels/attention/attention.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// views: out, q, k, v[, mask], each [batch, heads, rows, columns].
class AttentionStep : public Step {
 public:
  AttentionStep(const CpuFeatures& cpu, Storage cache)
      : kernel_(kernels::choose_attention(
            cache == Storage::F16 ? kernels::CacheType::F16 : kernels::CacheType::F32, cpu)) {}

  std::string name() const override { return std::string("attention (") + kernel_.name + ")"; }

  int64_t scratch_bytes() const override {
    kernels::AttentionArgs args{};
    args.head_dim = views[1].shape[3].upper();
    args.value_dim = views[3].shape[3].upper();
    return kernels::attention_scratch_floats(args) * static_cast<int64_t>(sizeof(float));
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& out = context.operands[0];
    const Operand& q = context.operands[1];
    const Operand& k = context.operands[2];
    const Operand& v = context.operands[3];
    for (int64_t batch = 0; batch < out.shape[0]; ++batch) {
      kernels::AttentionArgs args{};
      args.q = q.floats() + batch * q.strides[0];
      args.q_head_stride = q.strides[1];
      args.q_row_stride = q.strides[2];
      args.k = k.data + batch * k.strides[0] * element_size(k.storage);
      args.k_head_stride = k.strides[1];
      args.k_row_stride = k.strides[2];
      args.v = v.data + batch * v.strides[0] * element_size(v.storage);
      args.v_head_stride = v.strides[1];
      args.v_row_stride = v.strides[2];
      if (context.operands.size() > 4) {
        const Operand& mask = context.operands[4];
        args.mask = mask.floats() + batch * mask.strides[0];
        args.mask_head_stride = mask.strides[1];
        args.mask_row_stride = mask.strides[2];
      }
      args.out = out.floats() + batch * out.strides[0];
      args.out_head_stride = out.strides[1];
      args.out_row_stride = out.strides[2];
      args.heads = q.shape[1];
      args.kv_heads = k.shape[1];
      args.rows = q.shape[2];
      args.keys = k.shape[2];
      args.head_dim = q.shape[3];
      args.value_dim = v.shape[3];
      args.scale = 1.0f / std::sqrt(static_cast<float>(q.shape[3]));
      kernels::attention(context.pool, kernel_, args, reinterpret_cast<float*>(context.scratch));
    }
  }

 private:
  const kernels::AttentionKernel& kernel_;
};

// mask = allowed ? 0 : -inf
View additive_mask(Builder& builder, const View& allowed) {
  // Bools as floats are 0 and 1; log gives -inf and 0.
  const View ones = builder.contiguous(builder.view_as(allowed, Storage::F32));
  View mask = builder.allocate(Storage::F32, allowed.shape);
  class LogStep : public Step {
   public:
    std::string name() const override { return "mask"; }
    void run(const StepContext& context) const noexcept override {
      const int64_t count = context.operands[0].size();
      for (int64_t i = 0; i < count; ++i) {
        context.operands[0].floats()[i] =
            context.operands[1].floats()[i] != 0 ? 0 : -std::numeric_limits<float>::infinity();
      }
    }
  };
  builder.emit<LogStep>({mask, ones});
  return mask;
}

// Any rank from 2 on as [batch, heads, rows, columns], columns of unit stride.
View four_axes(Builder& builder, const View& view, const Shape& batch_and_heads) {
  Shape shape = batch_and_heads;
  shape.insert(shape.end(), view.shape.end() - 2, view.shape.end());
  View wide = broadcast_view(view, shape);
  if (!(wide.strides.back() == Dim(1)) && !(wide.shape.back() == Dim(1))) {
    View copy = builder.allocate(wide.storage, wide.shape);
    builder.emit_copy(copy, wide);
    wide = copy;
  }
  const size_t rank = wide.shape.size();
  if (rank == 4) return wide;
  if (rank == 3) {
    wide.shape.insert(wide.shape.begin(), Dim(1));
    wide.strides.insert(wide.strides.begin(), Dim(0));
    return wide;
  }
  Shape merged = {mil::num_elements(Shape(shape.begin(), shape.end() - 3)), shape[rank - 3],
                  shape[rank - 2], shape[rank - 1]};
  if (auto reshaped = reshape_view(wide, merged)) return *reshaped;
  return *reshape_view(builder.contiguous(wide), merged);
}

// The value that was repeated for grouped heads, where `var` is reshape(tile(expand_dims(value))):
// the kernel reads each KV head once for its group instead. The repeated copy then has no reader
// and is dropped.
std::optional<View> ungrouped(Builder& builder, const mil::Var* var, const Shape& shape) {
  if (var == nullptr || var->producer == nullptr || var->producer->type() != "reshape")
    return std::nullopt;
  const mil::Var* tiled = var->producer->input_var("x");
  if (tiled == nullptr || tiled->producer == nullptr || tiled->producer->type() != "tile")
    return std::nullopt;
  const View repeated = builder.view(tiled);
  // [batch, kv_heads, repeats, keys, columns] with nothing but the repeats axis repeated.
  if (repeated.rank() != 5 || shape.size() != 4) return std::nullopt;
  if (!(repeated.strides[2] == Dim(0)) || !(repeated.shape[1] * repeated.shape[2] == shape[1]) ||
      !(repeated.shape[0] == shape[0]) || !(repeated.shape[3] == shape[2]) ||
      !(repeated.shape[4] == shape[3])) {
    return std::nullopt;
  }
  View view = repeated;
  view.shape.erase(view.shape.begin() + 2);
  view.strides.erase(view.strides.begin() + 2);
  return view;
}

void attention(Builder& builder, const mil::Operation& operation) {
  const Shape& out_shape = builder.info(operation.output()).shape;
  if (out_shape.size() < 3) {
    fail(ErrorCode::InvalidFile, "{}: rank {} is less than 3", builder.where(operation),
         out_shape.size());
  }
  const View q_view = builder.floats(operation, "query");
  const Shape heads(out_shape.begin(), out_shape.end() - 2);
  const auto cached = [&](std::string_view name) {
    const mil::Var* var = operation.input_var(name);
    const Shape& shape = builder.info(var).shape;
    View view;
    if (auto group = ungrouped(builder, var, shape)) {
      view = *group;
      if (view.storage != Storage::F16) view = builder.view_as(view, Storage::F32);
      return four_axes(builder, view, Shape(view.shape.begin(), view.shape.end() - 2));
    }
    view = builder.view(var);
    if (view.storage != Storage::F16) view = builder.view_as(view, Storage::F32);
    return four_axes(builder, view, heads);
  };
  View k = cached("key"), v = cached("value");
  if (k.storage != v.storage || !(k.shape[1] == v.shape[1])) {
    k = four_axes(builder, builder.floats(operation, "key"), heads);
    v = four_axes(builder, builder.floats(operation, "value"), heads);
  }
  const View q = four_axes(builder, q_view, heads);
  // Rows before heads in memory: what follows merges the heads of a row, which is then a view.
  const Shape shape = {q.shape[0], q.shape[2], q.shape[1], v.shape[3]};
  const View by_row = builder.allocate(Storage::F32, shape);
  const View out = transpose_view(by_row, {0, 2, 1, 3});
  std::vector<View> views = {out, q, k, v};
  if (operation.find_input("attn_mask") != nullptr) {
    View mask = builder.view(operation, "attn_mask");
    mask = mask.storage == Storage::Bool ? additive_mask(builder, mask)
                                         : builder.view_as(mask, Storage::F32);
    Shape full = heads;
    full.push_back(q.shape[2]);
    full.push_back(k.shape[2]);
    mask = broadcast_view(mask, full);
    views.push_back(four_axes(builder, mask, heads));
  }
  builder.emit<AttentionStep>(std::move(views), builder.cpu(), k.storage);
  if (auto reshaped = reshape_view(out, out_shape)) {
    builder.define_output(operation, *reshaped);
  } else {
    builder.define_output(operation, *reshape_view(builder.contiguous(out), out_shape));
  }
}

}  // namespace

void add_attention_rules(Rules& rules) {
  rules["scaled_dot_product_attention"] = attention;
}

}  // namespace pippin::engine
