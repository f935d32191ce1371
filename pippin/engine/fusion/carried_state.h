// A state that each pass replaces: read, and written in place by the step that computes with it.
#pragma once

#include <optional>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// The place in a state where a slice_update writes, if that is the place that `before` was read
// from, and nothing wrote there since. The update counts as done then: the caller's step has to do
// it. Otherwise nothing, and nothing has changed.
std::optional<View> replace_carried(Builder& builder, const mil::Operation& slice_update,
                                    const mil::Var* before);

// Rows of a state as fp32 while a kernel works on them: where they lie, or a copy in `scratch`,
// which has space for all of them and which store() writes back.
class FloatRows {
 public:
  // `rows` rows of n elements side by side, `stride` elements apart, from the given element on.
  FloatRows(const Operand& state, int64_t first, int64_t rows, int64_t stride, int64_t n,
            float* scratch);
  void store() const;
  float* data() const { return data_; }
  int64_t stride() const { return copied_ ? n_ : state_stride_; }

 private:
  std::byte* state_;
  int64_t rows_, state_stride_, n_;
  bool copied_;
  float* data_;
};

}  // namespace pippin::engine
