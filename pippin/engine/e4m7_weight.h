// fp16 and bf16 weights that are kept in 12 bits, without loss: those of packages that were made of
// bf16 checkpoints (kernels/e4m7/e4m7.h).
//
// They are packed when a plan is made, where a load cache keeps them, so only once; the package's
// own bytes are then not read again.
// docs/decisions/0011-halves-of-bf16-checkpoints-take-12-bits.md tells why.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/engine/cached_array.h"
#include "pippin/engine/view.h"
#include "pippin/kernels/e4m7/e4m7.h"

namespace pippin::engine {

class Builder;

struct E4M7Weight {
  kernels::E4M7Matrix matrix{};
  SharedBytes bytes;  // what matrix points to
  // What one product reads, and how much less that is than the weight as it is stored.
  int64_t read_bytes() const;
  int64_t saved_bytes() const;
};

// The weight `w` [n, k], which is `var` in row-major order; null where it stays as it is: precision
// is not `fast`, there is no cache or no room in it, it is small, or its numbers have more than 8
// significant bits.
std::shared_ptr<const E4M7Weight> narrow_weight(Builder& builder, const mil::Var* var,
                                                const View& w);

}  // namespace pippin::engine
