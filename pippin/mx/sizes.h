// Sizes that the callers of a package choose, found again in what was recorded.
//
// A function is recorded several times, each time with other sizes. A number of it (a size, where a
// slice begins) that is the same each time is one; another becomes an expression over the chosen
// sizes that gives all of its values, and has more of them to fit than it has coefficients.
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
  // Chosen sizes; `values` are those of each recording. `are_all`: no other values are possible.
  struct Choice {
    std::string name;
    int64_t lower, upper;
  };
  Sizes(const std::vector<Choice>& choices, std::vector<std::vector<int64_t>> values, bool are_all);

  size_t num_traces() const { return values_.size(); }
  const mil::Dim& symbol(size_t choice) const { return symbols_[choice]; }

  // What each recording makes of an expression; nothing where it has other symbols.
  std::optional<std::vector<int64_t>> evaluate(const mil::Dim& dim) const;
  // The expression that has these values; nothing where there is none.
  std::optional<mil::Dim> find(std::span<const int64_t> values);
  // Makes find() know an expression, which is then preferred to others.
  void learn(const mil::Dim& dim);

  // "n = 5, 9, 12", for errors.
  std::string to_string() const;

 private:
  std::optional<mil::Dim> fit(std::span<const int64_t> values,
                              const std::vector<mil::Dim>& monomials) const;
  std::optional<mil::Dim> quotient(std::span<const int64_t> values) const;

  std::vector<Choice> choices_;
  std::vector<mil::Dim> symbols_;
  std::vector<std::vector<int64_t>> values_;  // of each recording: of each choice
  bool are_all_;
  std::map<std::vector<int64_t>, mil::Dim> known_;
};

}  // namespace pippin::mx
