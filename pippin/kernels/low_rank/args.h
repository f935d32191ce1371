// The arguments of low_rank.h and the tables of kernels.inc. Included by files that are compiled
// for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

// The columns of a panel of B, those after n are 0:
//
//   panel 0: rank 0: B[0..15, 0], rank 1: B[0..15, 1], ...    panel 1: rank 0: B[16..31, 0], ...
constexpr int64_t kLowRankColumns = 16;

// Strides are between rows, in elements.
struct LowRankArgs {
  const float* t;  // [m, all ranks]
  int64_t t_stride;
  const void* b;  // the panels of all columns
  int64_t all_ranks;
  const int32_t* ranks;  // those that are added, ascending
  int64_t count;
  float* y;  // of column 0
  int64_t y_stride;
  int64_t m, begin, end;  // columns [begin, end)
};

struct LowRankKernels {
  const char* name;

  // By the type of B.
  void (*add_f32)(const LowRankArgs& args) noexcept;
  void (*add_f16)(const LowRankArgs& args) noexcept;
  void (*add_bf16)(const LowRankArgs& args) noexcept;
};

#define PIPPIN_LOW_RANK(flag, name) extern const LowRankKernels name;
#include "pippin/kernels/low_rank/kernels.inc"
#undef PIPPIN_LOW_RANK

}  // namespace pippin::kernels
