// Attention as one op.
#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

Infos infer_attention(InferContext& context) {
  const ValueInfo &query = context.input("query"), &key = context.input("key"),
                  &value = context.input("value");
  const size_t rank = query.shape.size();
  if (rank < 3 || key.shape.size() != rank || value.shape.size() != rank) {
    context.reject("query, key and value of ranks {}, {} and {}", rank, key.shape.size(),
                   value.shape.size());
  }
  if (key.type != query.type || value.type != query.type) {
    context.reject("query, key and value of different types");
  }
  context.require_equal(query.shape[rank - 1], key.shape[rank - 1], "query's and key's last axis");
  context.require_equal(key.shape[rank - 2], value.shape[rank - 2], "keys and values");
  const auto batch = [&](const ValueInfo& info) {
    return Shape(info.shape.begin(), info.shape.end() - 2);
  };
  Shape shape = broadcast(context, broadcast(context, batch(query), batch(key)), batch(value));
  shape.push_back(query.shape[rank - 2]);
  if (context.has("attn_mask")) {
    const ValueInfo& mask = context.input("attn_mask");
    if (mask.type != DataType::Bool && !is_float(mask.type)) {
      context.reject("attn_mask is {}", to_string(mask.type));
    }
    Shape scores = shape;
    scores.push_back(key.shape[rank - 2]);
    if (broadcast(context, mask.shape, scores).size() != scores.size()) {
      context.reject("attn_mask of rank {}", mask.shape.size());
    }
  }
  shape.push_back(value.shape[rank - 1]);
  return one(tensor_info(query.type, std::move(shape)));
}

Tensors evaluate_attention(EvalContext& context) {
  const auto with = [](Dims batch, int64_t rows, int64_t columns) {
    batch.insert(batch.end(), {rows, columns});
    return batch;
  };
  const auto batch_of = [](const Tensor& x) { return Dims(x.shape.begin(), x.shape.end() - 2); };
  const Tensor &q = context.input("query"), &k = context.input("key"), &v = context.input("value");
  const int64_t length = q.shape.end()[-2], size = q.shape.back();
  const int64_t keys = k.shape.end()[-2], value_size = v.shape.back();
  const Dims batch = broadcast(context, broadcast(context, batch_of(q), batch_of(k)), batch_of(v));
  const Tensor query = broadcast_to(context, q, with(batch, length, size));
  const Tensor key = broadcast_to(context, k, with(batch, keys, size));
  const Tensor value = broadcast_to(context, v, with(batch, keys, value_size));
  Tensor mask(DataType::Float32, {});
  if (context.has("attn_mask")) mask = context.input("attn_mask");
  const bool bool_mask = mask.type == DataType::Bool;
  mask = broadcast_to(context, mask, with(batch, length, keys));
  const double scale = 1 / std::sqrt(static_cast<double>(size));

  Tensor result(q.type, with(batch, length, value_size));
  std::vector<double> weights(static_cast<size_t>(keys));
  for (int64_t row = 0; row < num_elements(batch) * length; ++row) {
    const int64_t b = row / length;
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (int64_t i = 0; i < size; ++i) {
        score += query.values[static_cast<size_t>(row * size + i)] *
                 key.values[static_cast<size_t>((b * keys + j) * size + i)];
      }
      const double bias = mask.values[static_cast<size_t>(row * keys + j)];
      score = bool_mask ? (bias != 0 ? score * scale : -HUGE_VAL) : score * scale + bias;
      weights[static_cast<size_t>(j)] = score;
      largest = std::max(largest, score);
    }
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    for (int64_t j = 0; j < keys; ++j) {
      // A masked key does not contribute to the result, whatever its value.
      const double weight = weights[static_cast<size_t>(j)] / sum;
      if (weight == 0) continue;
      for (int64_t i = 0; i < value_size; ++i) {
        result.values[static_cast<size_t>(row * value_size + i)] +=
            weight * value.values[static_cast<size_t>((b * keys + j) * value_size + i)];
      }
    }
  }
  return one(std::move(result));
}

}  // namespace

std::vector<OpDef> attention_ops() {
  return {
      {"scaled_dot_product_attention",
       Opset::CoreML8,
       {tensor("query", "f"), tensor("key", "f"), tensor("value", "f"),
        optional_tensor("attn_mask", "fb")},
       infer_attention,
       evaluate_attention,
       "softmax(query * key^T / sqrt(E) + attn_mask) * value for query [B, *, L, E], key "
       "[B, *, S, E] and value [B, *, S, EV]. A bool mask is true where a key takes part; masks "
       "broadcast to [B, *, L, S]. A row with every key masked is NaN."},
  };
}

}  // namespace pippin::mil
