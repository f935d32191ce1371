// Finds the sizes that callers of a package choose in recorded numbers.
//
// A function is recorded several times, with different sizes each time. A recorded number (a size,
// the start of a slice) that is the same each time is a constant; any other becomes an expression
// over the chosen sizes that matches all of its values, which are more than it has coefficients.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/mil/dim.h"

namespace pippin::mx {

class Sizes {
 public:
  // A chosen size; `values` has one for each recording. `are_all`: no other values are possible.
  struct Choice {
    std::string name;
    int64_t lower, upper;
  };
  Sizes(const std::vector<Choice>& choices, std::vector<std::vector<int64_t>> values, bool are_all);

  const mil::Dim& symbol(size_t choice) const { return symbols_[choice]; }

  // The expression's value in each recording; nullopt if it has other symbols.
  std::optional<std::vector<int64_t>> evaluate(const mil::Dim& dim) const;
  // The expression with these values; nullopt if none exists.
  std::optional<mil::Dim> find(std::span<const int64_t> values);
  // Adds an expression, which find() then prefers.
  void learn(const mil::Dim& dim);

  // "n = 5, 9, 12", for errors.
  std::string to_string() const;

 private:
  std::optional<mil::Dim> fit(std::span<const int64_t> values,
                              const std::vector<mil::Dim>& monomials) const;
  std::optional<mil::Dim> quotient(std::span<const int64_t> values) const;

  std::vector<Choice> choices_;
  std::vector<mil::Dim> symbols_;
  std::vector<std::vector<int64_t>> values_;  // per recording, one for each choice
  bool are_all_;
  std::map<std::vector<int64_t>, mil::Dim> known_;
};

}  // namespace pippin::mx
