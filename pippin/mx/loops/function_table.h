// Tables of elementwise functions: an entry for each operation of an enum, in its order.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "pippin/mx/core/chosen_kernels.h"
#include "pippin/mx/core/convert.h"

namespace pippin::mx {

template <typename Op, typename Function, typename KernelOp>
struct TableEntry {
  Op op;
  std::string_view name;
  int cost;  // per element, in additions
  std::optional<KernelOp>
      kernel;         // the project's kernel, for float and, if of two numbers, int32_t
  Function function;  // takes only the types for which it has a meaning
};

template <typename Op, typename KernelOp>
struct MakeEntry {
  template <typename Function>
  constexpr TableEntry<Op, Function, KernelOp> operator()(Op op, std::string_view name, int cost,
                                                          std::optional<KernelOp> kernel,
                                                          Function function) const {
    return {op, name, cost, kernel, function};
  }
};

// The entry at an index, as a type.
template <const auto& kTable, size_t kIndex>
struct EntryAt {
  static constexpr const auto& kEntry = std::get<kIndex>(kTable);
  template <typename... T>
  static constexpr bool kTakes = std::is_invocable_v<decltype(kEntry.function), T...>;
  static_assert(static_cast<size_t>(kEntry.op) == kIndex);
};

template <typename Result, typename At, typename Body>
Result call_with(const Body& body) {
  return body(At());
}

// Calls body(EntryAt<...>()) with the entry of an operation.
template <const auto& kTable, typename Op, typename Body>
auto with_entry(Op op, const Body& body) {
  using Result = decltype(body(EntryAt<kTable, 0>()));
  constexpr size_t kSize = std::tuple_size_v<std::remove_cvref_t<decltype(kTable)>>;
  return [&]<size_t... kIndices>(std::index_sequence<kIndices...>) {
    static constexpr Result (*kCalls[])(const Body&) = {
        call_with<Result, EntryAt<kTable, kIndices>, Body>...};
    return kCalls[static_cast<size_t>(op)](body);
  }
  (std::make_index_sequence<kSize>());
}

template <typename Table>
constexpr auto names_of(const Table& table) {
  return std::apply([](const auto&... entry) { return std::array{entry.name...}; }, table);
}

}  // namespace pippin::mx
