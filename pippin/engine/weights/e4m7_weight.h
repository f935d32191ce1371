// fp16 and bf16 weights that are kept in 12 bits, without loss, and products with them: those of
// packages that were made of bf16 checkpoints (kernels/e4m7/e4m7.h).
//
// They are packed when a plan is made, where a load cache keeps them, so only once; the package's
// own bytes are then not read again.
// docs/decisions/0011-halves-of-bf16-checkpoints-take-12-bits.md tells why.
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
  SharedBytes bytes;  // what matrix points to
  // What one product reads, and how much less that is than the weight as it is stored.
  int64_t read_bytes() const;
  int64_t saved_bytes() const;
};

// A weight of fp16 or bf16 in 12 bits; null where it stays as it is: there is no cache or no room
// in it, it is small, or its numbers have more than 8 significant bits. Polls check_cancel().
std::shared_ptr<const E4M7Weight> narrow_weight(const PlainWeight& weight, mil::Opset opset,
                                                LoadCache* cache);

}  // namespace pippin::engine
