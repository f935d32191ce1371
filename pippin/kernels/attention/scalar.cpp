// The reference: plain softmax in two passes, sums in double. Always processes whole tasks.
#include <cmath>
#include <limits>

#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/attention/attention.h"
#include "pippin/kernels/attention/cache_codes.h"

namespace pippin::kernels {
namespace {

float to_float(float value) {
  return value;
}
using pippin::to_float;

// The keys or values of one head.
template <typename T>
struct PlainCache {
  const T* data;
  int64_t key_stride, dim_stride;
  float operator()(int64_t key, int64_t i) const {
    return to_float(data[key * key_stride + i * dim_stride]);
  }
};
template <typename T>
PlainCache<T> keys_of(const AttentionArgs& a, int64_t kv_head, T*) {
  return {static_cast<const T*>(a.k) + kv_head * a.k_head_stride, a.k_key_stride, a.k_dim_stride};
}
template <typename T>
PlainCache<T> values_of(const AttentionArgs& a, int64_t kv_head, T*) {
  return {static_cast<const T*>(a.v) + kv_head * a.v_head_stride, a.v_key_stride, a.v_dim_stride};
}

template <CacheType kType>
struct CodedCache {
  const uint8_t* codes;
  int64_t key_stride;
  const uint16_t* scales;
  int64_t scale_stride, group, dims;
  float operator()(int64_t key, int64_t i) const {
    return read_code(kType, codes + key * key_stride, scales + key * scale_stride, group, dims, i);
  }
};
template <CacheType kType>
CodedCache<kType> keys_of(const AttentionArgs& a, int64_t kv_head, CodedCache<kType>*) {
  return {static_cast<const uint8_t*>(a.k) + kv_head * a.k_head_stride,
          a.k_key_stride,
          a.k_scales + kv_head * a.k_scale_head_stride,
          a.k_scale_key_stride,
          a.k_group,
          a.head_dim};
}
template <CacheType kType>
CodedCache<kType> values_of(const AttentionArgs& a, int64_t kv_head, CodedCache<kType>*) {
  return {static_cast<const uint8_t*>(a.v) + kv_head * a.v_head_stride,
          a.v_key_stride,
          a.v_scales + kv_head * a.v_scale_head_stride,
          a.v_scale_key_stride,
          a.v_group,
          a.value_dim};
}

template <typename Cache>
void attention_scalar(const AttentionArgs& a, int64_t head, int64_t row) {
  const int64_t kv_head = head / (a.heads / a.kv_heads);
  const float* q = a.q + head * a.q_head_stride + row * a.q_row_stride;
  const auto k = keys_of(a, kv_head, static_cast<Cache*>(nullptr));
  const auto v = values_of(a, kv_head, static_cast<Cache*>(nullptr));
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
      sum += double{q[i * a.q_dim_stride]} * double{k(key, i)};
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
  const auto value = [&](int64_t key, int64_t i) { return double{v(key, i)}; };
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
void attention_q8_scalar(const AttentionArgs& args, const AttentionTask& task, float*) noexcept {
  attention_scalar<CodedCache<CacheType::Q8>>(args, task);
}
void attention_q4_scalar(const AttentionArgs& args, const AttentionTask& task, float*) noexcept {
  attention_scalar<CodedCache<CacheType::Q4>>(args, task);
}

}  // namespace pippin::kernels
