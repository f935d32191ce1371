// Reduces a run of numbers to one, and adds runs elementwise.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/mx/core/convert.h"

namespace pippin::mx {

enum class ReduceOp : uint8_t { Sum, Prod, Max, Min, All, Any };
std::string_view to_string(ReduceOp op);

// Sums of floats are kept in double; everything else in the kind's own type. A total is 8 bytes.
struct ReduceFunctions {
  void (*begin)(void* total);  // the total of an empty run
  // total = total combined with the run.
  void (*run)(const void* x, int64_t count, void* total);
  // totals[i] = totals[i] combined with x[i]; totals are 8 bytes apart.
  void (*each)(const void* x, int64_t count, void* totals);
  // Stores the totals contiguously as numbers of the kind.
  void (*end)(const void* totals, int64_t count, void* y);
};
const ReduceFunctions& reduce_functions(ReduceOp op, Kind kind);

}  // namespace pippin::mx
