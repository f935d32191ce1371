// Runs of numbers to one, and runs upon runs.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/mx/convert.h"

namespace pippin::mx {

enum class ReduceOp : uint8_t { Sum, Prod, Max, Min, All, Any };
inline constexpr int kNumReduceOps = static_cast<int>(ReduceOp::Any) + 1;
std::string_view to_string(ReduceOp op);

// Sums of floats are kept in double; all else in the kind's own numbers. A total is 8 bytes.
struct ReduceFunctions {
  void (*begin)(void* total);  // the total of nothing
  // total = total and the run.
  void (*run)(const void* x, int64_t count, void* total);
  // totals[i] = totals[i] and x[i]; totals are 8 bytes apart.
  void (*each)(const void* x, int64_t count, void* totals);
  // The totals as numbers of the kind, side by side.
  void (*end)(const void* totals, int64_t count, void* y);
};
const ReduceFunctions& reduce_functions(ReduceOp op, Kind kind);

}  // namespace pippin::mx
