// fp16 and bf16 weights that are kept in 12 bits, without loss, and products with them: for
// packages made from bf16 checkpoints (kernels/e4m7/e4m7.h).
//
// They are packed when a plan is made, only once if a load cache keeps them; the package's own
// bytes are then not read again. Reasons:
// docs/decisions/0011-halves-of-bf16-checkpoints-take-12-bits.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/engine/weights/cached_array.h"
#include "pippin/kernels/e4m7/e4m7.h"

namespace pippin::engine {

// A weight [n, k] in row-major order: the result `var` of a program, at `data`.
struct PlainWeight {
  const mil::Var* var = nullptr;
  kernels::WeightType type = kernels::WeightType::F16;
  const std::byte* data = nullptr;
  int64_t n = 0, k = 0;

  const std::byte* row(int64_t i) const { return data + i * k * 2; }
};

struct E4M7Weight {
  kernels::E4M7Matrix matrix{};
  SharedBytes bytes;  // the memory of `matrix`
  // Bytes that one product reads, and the number saved compared with the weight as it is stored.
  int64_t read_bytes() const;
  int64_t saved_bytes() const;
};

// A weight of fp16 or bf16 in 12 bits; null if it stays as it is: without a cache, or if the cache
// is full, it is small, or its numbers have more than 8 significant bits. Polls check_cancel().
std::shared_ptr<const E4M7Weight> narrow_weight(const PlainWeight& weight, mil::Opset opset,
                                                LoadCache* cache);

}  // namespace pippin::engine
