#include "pippin/mx/loops/reduce_loops.h"

#include <limits>
#include <type_traits>
#include <utility>

#include "pippin/kernels/rows/rows.h"

namespace pippin::mx {
namespace {

constexpr std::string_view kNames[kNumReduceOps] = {"sum", "prod", "max", "min", "all", "any"};

// The type that totals are kept in.
template <ReduceOp kOp, typename T>
using Total = std::conditional_t<kOp == ReduceOp::Sum && std::is_same_v<T, float>, double, T>;

template <ReduceOp kOp, typename T, typename X>
T combine(T total, X value) {
  switch (kOp) {
    case ReduceOp::Sum:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(total) + static_cast<uint64_t>(value));
      } else {
        return total + static_cast<T>(value);
      }
    case ReduceOp::Prod:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(total) * static_cast<uint64_t>(value));
      } else {
        return total * value;
      }
    case ReduceOp::Max:
      return value > total || value != value ? value : total;
    case ReduceOp::Min:
      return value < total || value != value ? value : total;
    case ReduceOp::All:
      return static_cast<T>(total != 0 && value != 0);
    default:
      return static_cast<T>(total != 0 || value != 0);
  }
}

template <ReduceOp kOp, typename T>
constexpr T neutral() {
  switch (kOp) {
    case ReduceOp::Prod:
    case ReduceOp::All:
      return T(1);
    case ReduceOp::Max:
      return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                  : std::numeric_limits<T>::lowest();
    case ReduceOp::Min:
      return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                  : std::numeric_limits<T>::max();
    default:
      return T(0);
  }
}

const kernels::RowsKernels& simd() {
  static const auto& table = kernels::choose_rows(cpu_features());
  return table;
}

template <ReduceOp kOp, typename T>
void run(const void* x, int64_t count, void* total) {
  const auto* from = static_cast<const T*>(x);
  auto& result = *static_cast<Total<kOp, T>*>(total);
  if constexpr (std::is_same_v<T, float> &&
                (kOp == ReduceOp::Sum || kOp == ReduceOp::Max || kOp == ReduceOp::Min)) {
    float part;
    if (count == 0) return;
    simd().reduce(kOp == ReduceOp::Sum   ? kernels::ReduceOp::Sum
                  : kOp == ReduceOp::Max ? kernels::ReduceOp::Max
                                         : kernels::ReduceOp::Min,
                  {from, count, &part, 1, 1, count});
    result = combine<kOp>(result, part);
  } else {
    Total<kOp, T> value = result;
    for (int64_t i = 0; i < count; ++i) value = combine<kOp>(value, from[i]);
    result = value;
  }
}

template <ReduceOp kOp, typename T>
struct Loops {
  struct alignas(8) Slot {
    Total<kOp, T> value;
  };
  static_assert(sizeof(Slot) == 8);

  static void begin(void* total) { static_cast<Slot*>(total)->value = neutral<kOp, T>(); }
  static void each(const void* x, int64_t count, void* totals) {
    const auto* from = static_cast<const T*>(x);
    auto* slots = static_cast<Slot*>(totals);
    for (int64_t i = 0; i < count; ++i) slots[i].value = combine<kOp>(slots[i].value, from[i]);
  }
  static void end(const void* totals, int64_t count, void* y) {
    const auto* slots = static_cast<const Slot*>(totals);
    auto* to = static_cast<T*>(y);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(slots[i].value);
  }
  static constexpr ReduceFunctions kFunctions = {begin, run<kOp, T>, each, end};
};

template <ReduceOp kOp>
const ReduceFunctions& of_kind(Kind kind) {
  return *with_kind(
      kind, [](auto type) { return &Loops<kOp, typename decltype(type)::type>::kFunctions; });
}

}  // namespace

std::string_view to_string(ReduceOp op) {
  return kNames[static_cast<int>(op)];
}

const ReduceFunctions& reduce_functions(ReduceOp op, Kind kind) {
  switch (op) {
    case ReduceOp::Sum:
      return of_kind<ReduceOp::Sum>(kind);
    case ReduceOp::Prod:
      return of_kind<ReduceOp::Prod>(kind);
    case ReduceOp::Max:
      return of_kind<ReduceOp::Max>(kind);
    case ReduceOp::Min:
      return of_kind<ReduceOp::Min>(kind);
    case ReduceOp::All:
      return of_kind<ReduceOp::All>(kind);
    default:
      return of_kind<ReduceOp::Any>(kind);
  }
}

}  // namespace pippin::mx
