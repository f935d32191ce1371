#include "pippin/mx/ops/attention.h"

#include <cmath>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/launch.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/core/small_vector.h"
#include "pippin/mx/ops/axes.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/fast.h"
#include "pippin/mx/ops/matmul.h"
#include "pippin/mx/ops/operand.h"
#include "pippin/mx/ops/reduce.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx::fast {
namespace {

Ref<Node> causal_mask(int64_t rows, int64_t keys) {
  Ref<Node> mask(new Node(float32, {1, 1, rows, keys}));
  mask->allocate();
  auto* to = reinterpret_cast<float*>(mask->data);
  // A row that sees nothing gives the mean of all values, as with the type's lowest number.
  const float low =
      rows > keys ? std::numeric_limits<float>::lowest() : -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < keys; ++j) to[i * keys + j] = j <= i + keys - rows ? 0 : low;
  }
  return mask;
}

Ref<Node> float_mask(const Ref<Node>& mask) {
  if (mask->dtype == float32) return mask;
  Ref<Node> floats = row_major_as(mask, float32);
  if (mask->dtype != bool_) return floats;
  auto* values = reinterpret_cast<float*>(floats->data);
  for (int64_t i = 0; i < floats->size; ++i) {
    values[i] = values[i] != 0 ? 0 : std::numeric_limits<float>::lowest();
  }
  return floats;
}

// Inputs: q, k, v[, mask]. The result is stored as [batch, rows, heads, dim], the layout that
// models continue with.
class Attention final : public PrimitiveWith<Attention> {
 public:
  Attention(float scale, bool is_causal) : scale_(scale), is_causal_(is_causal) {}
  std::string_view name() const noexcept override { return "scaled_dot_product_attention"; }

  void eval(Node& out) const override {
    const Ref<Node> q = row_major_as(out.inputs[0], float32);
    const Ref<Node> k = cache(out.inputs[1]), v = cache(out.inputs[2]);
    const int64_t batch = q->shape[0], heads = q->shape[1], rows = q->shape[2];
    const int64_t keys = k->shape[2], dim = v->shape[3];
    Node result(float32, {batch, rows, heads, dim});
    result.allocate();
    engine::AttentionNode node;
    node.scale = scale_;
    node.is_masked = out.inputs.size() > 3 || (is_causal_ && rows > 1);
    const Strides& s = result.strides;
    SmallVector<engine::Operand, 5> operands;
    operands.push_back(
        operand_of(result, {batch, heads, rows, dim}, Strides{s[0], s[2], s[1], s[3]}));
    for (const Node* input : {q.get(), k.get(), v.get()}) operands.push_back(operand_of(*input));
    Ref<Node> mask;
    if (node.is_masked) {
      mask = out.inputs.size() > 3 ? float_mask(out.inputs[3]) : causal_mask(rows, keys);
      const Shape all{batch, heads, rows, keys};
      operands.push_back(
          operand_of(*mask, all, broadcast_strides(mask->shape, mask->strides, all)));
    }
    if (result.size > 0) engine::launch(node, {operands.begin(), operands.size()}, pool());
    finish(out, result);
  }
  void record(Recorder& recorder, const Node& out) const override {
    const Recorder::Value& q = recorder.input(out, 0);
    const mil::Shape& shape = q.shape();
    const auto spread = [&](size_t i) {  // a KV head for each head
      const Recorder::Value& each = recorder.input(out, i);
      const mil::Shape& own = each.shape();
      const int64_t repeats = recorder.number(
          out, [i](const Node& node) { return node.shape[1] / node.inputs[i]->shape[1]; });
      if (repeats == 1) return each;
      const auto apart = recorder.reshaped(each, {own[0], own[1], 1, own[2], own[3]});
      return recorder.reshaped(recorder.broadcast(apart, {own[0], own[1], repeats, own[2], own[3]}),
                               {own[0], shape[1], own[2], own[3]});
    };
    const mil::Dim rows = shape[2], keys = recorder.input(out, 1).shape()[2];
    std::optional<Recorder::Value> mask;
    if (out.inputs.size() > 3) {
      mask = recorder.broadcast(recorder.input(out, 3), {shape[0], shape[1], rows, keys});
    } else if (is_causal_ && !(rows == mil::Dim(1))) {
      mask = recorded_mask(recorder, rows, keys);
    }
    // The operation uses the scale for the head's size.
    const auto head_size =
        recorder.number(out, [](const Node& node) { return node.inputs[0]->shape[3]; });
    const double scale = scale_ * std::sqrt(static_cast<double>(head_size));
    recorder.define(out, pippin::array::scaled_dot_product_attention(
                             pippin::array::multiply(q, scale), spread(1), spread(2), mask));
  }
  auto members() const { return std::tie(scale_, is_causal_); }

 private:
  // [1, 1, rows, keys]: whether the key is not after the row.
  static Recorder::Value recorded_mask(Recorder& recorder, const mil::Dim& rows,
                                       const mil::Dim& keys) {
    if (rows.is_constant() && keys.is_constant()) {
      const int64_t n = rows.constant(), m = keys.constant();
      Node seen(bool_, {1, 1, n, m});
      seen.allocate();
      for (int64_t i = 0; i < seen.size; ++i) {
        seen.data[i] = std::byte{i % m <= i / m + m - n};
      }
      return recorder.constant(seen);
    }
    const auto last = pippin::array::add(Recorder::count(rows), Recorder::scalar(keys - rows));
    return pippin::array::greater_equal(recorder.reshaped(last, {1, 1, rows, 1}),
                                        recorder.reshaped(Recorder::count(keys), {1, 1, 1, keys}));
  }

  // Keys or values that the kernel can read: a type that is not wider, with one of the last two
  // axes dense.
  static Ref<Node> cache(const Ref<Node>& x) {
    if (x->dtype == float64) return row_major_as(x, float32);
    return x->strides[3] == 1 || x->strides[2] == 1 ? x : row_major(x);
  }
  // Converts [batch, rows, heads, dim] in float32 to the result's type, viewed as [batch, heads,
  // rows, dim].
  static void finish(Node& out, Node& result) {
    if (out.dtype != float32) {
      Node typed(out.dtype, result.shape);
      typed.allocate();
      copy_to(result, typed.data, out.dtype);
      result.buffer = typed.buffer;
      result.data = typed.data;
    }
    const Strides& s = result.strides;
    out.buffer = result.buffer;
    out.data = result.data;
    out.strides = {s[0], s[2], s[1], s[3]};
    out.set_row_major();
  }

  float scale_;
  bool is_causal_;
};

// Separate operations for cases that the kernel does not support.
array spelled_out(const array& q, const array& k, const array& v, float scale, bool is_causal,
                  const std::optional<array>& mask, const std::optional<array>& sinks) {
  const int64_t groups = k.shape(1), repeats = q.shape(1) / groups;
  const Dtype dtype = q.dtype();
  const array queries = unflatten(multiply(q, array(scale, dtype)), 1, {groups, repeats});
  array scores =
      flatten(matmul(queries, expand_dims(swapaxes(k, -1, -2), 2)), 1, 2);  // heads as in q
  const array low(finfo(dtype).min, dtype);
  if (is_causal) {
    const int64_t rows = q.shape(2), keys = k.shape(2);
    const array visible =
        tri(static_cast<int>(rows), static_cast<int>(keys), static_cast<int>(keys - rows), bool_);
    scores = where(visible, scores, low);
  } else if (mask) {
    scores = mask->dtype() == bool_ ? where(*mask, scores, low) : add(scores, *mask);
  }
  if (sinks) {
    Shape shape = scores.shape();
    shape.back() = 1;
    const array first = broadcast_to(reshape(*sinks, {1, q.shape(1), 1, 1}), shape);
    scores = softmax(concatenate({first, scores}, -1), -1, true);
    scores = slice_axis(scores, 3, 1, scores.shape(3));
  } else {
    scores = softmax(scores, -1, true);
  }
  return flatten(matmul(unflatten(scores, 1, {groups, repeats}), expand_dims(v, 2)), 1, 2);
}

void check_shapes(const array& q, const array& k, const array& v) {
  bool fits = q.ndim() == 4 && k.ndim() == 4 && v.ndim() == 4;
  fits = fits && k.shape(0) == q.shape(0) && v.shape(0) == q.shape(0) && k.shape(3) == q.shape(3) &&
         k.shape(1) == v.shape(1) && k.shape(2) == v.shape(2) && k.shape(1) > 0 &&
         q.shape(1) % k.shape(1) == 0;
  if (fits) return;
  fail(ErrorCode::InvalidArgument,
       "[scaled_dot_product_attention] Queries of shape {}, keys of {} and values of {} do not go "
       "together.",
       to_string(q.shape()), to_string(k.shape()), to_string(v.shape()));
}

}  // namespace

Ref<const Primitive> attention_primitive(float scale, bool is_causal) {
  return new_primitive<Attention>(scale, is_causal);
}

array scaled_dot_product_attention(const array& queries, const array& keys, const array& values,
                                   float scale, const std::string& mask_mode,
                                   const std::optional<array>& mask,
                                   const std::optional<array>& sinks) {
  constexpr const char* kName = "scaled_dot_product_attention";
  check_shapes(queries, keys, values);
  if (!mask_mode.empty() && mask_mode != "causal" && mask_mode != "array") {
    fail(ErrorCode::InvalidArgument, "[{}] The mask is \"causal\", an array or none, not \"{}\".",
         kName, mask_mode);
  }
  const bool is_causal = mask_mode == "causal";
  if (is_causal && mask) {
    fail(ErrorCode::InvalidArgument, "[{}] A causal mask takes no array.", kName);
  }
  const Dtype dtype = result_type({queries, keys, values});
  if (!is_floating(dtype)) {
    fail(ErrorCode::InvalidArgument, "[{}] {} is not a floating-point type.", kName,
         to_string(dtype));
  }
  const array q = astype(queries, dtype), k = astype(keys, dtype), v = astype(values, dtype);
  const Shape whole{q.shape(0), q.shape(1), q.shape(2), k.shape(2)};
  if (mask) {
    if (promote_types(mask->dtype(), dtype) != dtype) {
      fail(ErrorCode::InvalidArgument, "[{}] A mask of {} with values of {}.", kName,
           to_string(mask->dtype()), to_string(dtype));
    }
    if (!(broadcast_shapes(kName, mask->shape(), whole) == whole)) {
      fail(ErrorCode::InvalidArgument, "[{}] A mask of shape {} does not become {}.", kName,
           to_string(mask->shape()), to_string(whole));
    }
  }
  if (sinks && (sinks->ndim() != 1 || sinks->size() != q.shape(1) ||
                promote_types(sinks->dtype(), dtype) != dtype)) {
    fail(ErrorCode::InvalidArgument, "[{}] Sinks of shape {} and type {} for {} heads of {}.",
         kName, to_string(sinks->shape()), to_string(sinks->dtype()), q.shape(1), to_string(dtype));
  }
  if (sinks || dtype == float64 || k.shape(2) == 0) {
    const std::optional<array> typed =
        sinks ? std::optional<array>(astype(*sinks, dtype)) : std::nullopt;
    return spelled_out(q, k, v, scale, is_causal, mask, typed);
  }
  Shape shape = q.shape();
  shape.back() = v.shape(3);
  const auto primitive = attention_primitive(scale, is_causal);
  std::vector<array> inputs = {q, k, v};
  if (mask) {
    const bool is_integer = mask->dtype() != bool_ && !is_floating(mask->dtype());
    inputs.push_back(is_integer ? astype(*mask, dtype) : *mask);
  }
  return make(primitive, dtype, std::move(shape), std::span<const array>(inputs));
}

}  // namespace pippin::mx::fast
