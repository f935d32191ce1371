// The rules of simplify(). Each looks back from the last operation of a pattern.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::mil::networks {

// The questions and actions of a rule.
struct Rewriting {
  // Whether the value is computed in the block of the last operation and read once.
  std::function<bool(const Var*)> read_once;
  // Adds a constant before the new operation.
  std::function<Var*(Value value)> add_constant;
};

// The operation that computes the same result, which gets its output; null if the rule does not
// apply.
using SimplifyRule = std::unique_ptr<Operation> (*)(const Operation& last,
                                                    const Rewriting& rewriting);

std::unique_ptr<Operation> fold_channels(const Operation& last, const Rewriting& rewriting);
std::unique_ptr<Operation> fold_padding(const Operation& last, const Rewriting& rewriting);
std::unique_ptr<Operation> fold_clamp(const Operation& last, const Rewriting& rewriting);

// The elements of a constant parameter, if it has at most `most`.
std::optional<std::vector<double>> constant_numbers(const Operation& operation,
                                                    std::string_view parameter,
                                                    int64_t most = int64_t{1} << 20);
// The same for a single number.
std::optional<double> constant_number(const Operation& operation, std::string_view parameter);
// The operation of a type that computes the parameter, if nothing else reads its result; or null.
const Operation* own_producer(const Operation& operation, std::string_view parameter,
                              std::string_view type, const Rewriting& rewriting);
// A copy without outputs.
std::unique_ptr<Operation> copied(const Operation& operation);

}  // namespace pippin::mil::networks
