#include "pippin/mx/loops/reduce_loops.h"

#include <limits>
#include <type_traits>

#include "pippin/mx/loops/function_table.h"
#include "pippin/mx/loops/functions.h"

namespace pippin::mx {
namespace {

using K = kernels::ReduceOp;
constexpr MakeEntry<ReduceOp, K> kEntry;

constexpr std::tuple kFunctions{kEntry(ReduceOp::Sum, "sum", 1, K::Sum, Sum()),
                                kEntry(ReduceOp::Prod, "prod", 1, {}, Product()),
                                kEntry(ReduceOp::Max, "max", 1, K::Max, Maximum()),
                                kEntry(ReduceOp::Min, "min", 1, K::Min, Minimum()),
                                kEntry(ReduceOp::All, "all", 1, {}, LogicalAnd()),
                                kEntry(ReduceOp::Any, "any", 1, {}, LogicalOr())};
constexpr auto kNames = names_of(kFunctions);

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

template <typename At, typename T>
struct Loops {
  static constexpr ReduceOp kOp = At::kEntry.op;
  // The type that totals are kept in.
  using Total = std::conditional_t<kOp == ReduceOp::Sum && std::is_same_v<T, float>, double, T>;
  struct alignas(8) Slot {
    Total value;
  };
  static_assert(sizeof(Slot) == 8);
  static Total add(Total total, T x) { return At::kEntry.function(static_cast<Total>(x), total); }

  static void begin(void* total) { static_cast<Slot*>(total)->value = neutral<kOp, T>(); }
  static void run(const void* x, int64_t count, void* total) {
    const auto* from = static_cast<const T*>(x);
    auto* slot = static_cast<Slot*>(total);
    if constexpr (At::kEntry.kernel && std::is_same_v<T, float>) {
      if (count == 0) return;
      float part;
      row_kernels().reduce(*At::kEntry.kernel, {from, count, &part, 1, 1, count});
      slot->value = add(slot->value, part);
    } else {
      Total value = slot->value;
      for (int64_t i = 0; i < count; ++i) value = add(value, from[i]);
      slot->value = value;
    }
  }
  static void each(const void* x, int64_t count, void* totals) {
    const auto* from = static_cast<const T*>(x);
    auto* slots = static_cast<Slot*>(totals);
    for (int64_t i = 0; i < count; ++i) slots[i].value = add(slots[i].value, from[i]);
  }
  static void end(const void* totals, int64_t count, void* y) {
    const auto* slots = static_cast<const Slot*>(totals);
    auto* to = static_cast<T*>(y);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(slots[i].value);
  }
  static constexpr ReduceFunctions kLoops = {begin, run, each, end};
};

}  // namespace

std::string_view to_string(ReduceOp op) {
  return kNames[static_cast<size_t>(op)];
}

const ReduceFunctions& reduce_functions(ReduceOp op, Kind kind) {
  return *with_entry<kFunctions>(op, [kind](auto at) {
    return with_kind(kind, [](auto type) {
      return &Loops<decltype(at), typename decltype(type)::type>::kLoops;
    });
  });
}

}  // namespace pippin::mx
