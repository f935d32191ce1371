// The reference: plain softmax in two passes, sums in double. Always processes whole tasks.
#include <cmath>
#include <limits>

#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/attention/attention.h"

namespace pippin::kernels {
namespace {

float to_float(float value) {
  return value;
}
using pippin::to_float;

template <typename Cache>
void attention_scalar(const AttentionArgs& a, int64_t head, int64_t row) {
  const int64_t kv_head = head / (a.heads / a.kv_heads);
  const float* q = a.q + head * a.q_head_stride + row * a.q_row_stride;
  const Cache* k = static_cast<const Cache*>(a.k) + kv_head * a.k_head_stride;
  const Cache* v = static_cast<const Cache*>(a.v) + kv_head * a.v_head_stride;
  const float* mask =
      a.mask == nullptr ? nullptr : a.mask + head * a.mask_head_stride + row * a.mask_row_stride;
  float* out = a.out + head * a.out_head_stride + row * a.out_row_stride;

  const auto excluded = [&](int64_t key) {
    return mask != nullptr &&
           mask[key * a.mask_key_stride] == -std::numeric_limits<float>::infinity();
  };
  const auto score = [&](int64_t key) {
    double sum = 0;
    for (int64_t i = 0; i < a.head_dim; ++i) {
      sum += double{q[i * a.q_dim_stride]} *
             double{to_float(k[key * a.k_key_stride + i * a.k_dim_stride])};
    }
    sum *= double{a.scale};
    if (a.softcap != 0) sum = double{a.softcap} * std::tanh(sum / double{a.softcap});
    return mask == nullptr ? sum : sum + double{mask[key * a.mask_key_stride]};
  };

  double max = -std::numeric_limits<double>::infinity();
  if (a.sinks != nullptr) max = double{a.sinks[head]};
  for (int64_t key = 0; key < a.keys; ++key) {
    if (!excluded(key)) max = std::fmax(max, score(key));
  }
  const auto value = [&](int64_t key, int64_t i) {
    return double{to_float(v[key * a.v_key_stride + i * a.v_dim_stride])};
  };
  for (int64_t i = 0; i < a.value_dim; ++i) out[i * a.out_dim_stride] = 0;
  double total = a.sinks == nullptr ? 0 : std::exp(double{a.sinks[head]} - max);
  for (int64_t key = 0; key < a.keys; ++key) {
    if (excluded(key)) continue;
    const double weight = std::exp(score(key) - max);
    total += weight;
    for (int64_t i = 0; i < a.value_dim; ++i) {
      out[i * a.out_dim_stride] += static_cast<float>(weight * value(key, i));
    }
  }
  for (int64_t i = 0; i < a.value_dim; ++i) {
    float& element = out[i * a.out_dim_stride];
    element = static_cast<float>(double{element} / total);
  }
}

template <typename Cache>
void attention_scalar(const AttentionArgs& args, const AttentionTask& task) {
  for (int64_t head = task.head; head < task.head + task.heads; ++head) {
    for (int64_t row = task.row; row < task.row + task.rows; ++row) {
      attention_scalar<Cache>(args, head, row);
    }
  }
}

}  // namespace

void attention_f32_scalar(const AttentionArgs& args, const AttentionTask& task, float*) noexcept {
  attention_scalar<float>(args, task);
}
void attention_f16_scalar(const AttentionArgs& args, const AttentionTask& task, float*) noexcept {
  attention_scalar<float16>(args, task);
}
void attention_bf16_scalar(const AttentionArgs& args, const AttentionTask& task, float*) noexcept {
  attention_scalar<bfloat16>(args, task);
}

}  // namespace pippin::kernels
