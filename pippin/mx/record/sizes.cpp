#include "pippin/mx/record/sizes.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace pippin::mx {

Sizes::Sizes(const std::vector<Choice>& choices, std::vector<std::vector<int64_t>> values,
             bool are_all)
    : choices_(choices), values_(std::move(values)), are_all_(are_all) {
  for (const Choice& choice : choices) {
    symbols_.push_back(mil::Dim::symbol(choice.name, choice.lower, choice.upper));
    learn(symbols_.back());
  }
}

std::optional<std::vector<int64_t>> Sizes::evaluate(const mil::Dim& dim) const {
  std::vector<uint64_t> ids;
  for (const mil::Dim& symbol : symbols_) ids.push_back(symbol.symbols()[0]->id);
  for (const auto& symbol : dim.symbols()) {
    if (std::find(ids.begin(), ids.end(), symbol->id) == ids.end()) return std::nullopt;
  }
  std::vector<int64_t> result;
  for (const std::vector<int64_t>& chosen : values_) {
    result.push_back(dim.evaluate([&](const mil::Dim::Atom& symbol) {
      const auto place = std::find(ids.begin(), ids.end(), symbol.id) - ids.begin();
      return chosen[static_cast<size_t>(place)];
    }));
  }
  return result;
}

void Sizes::learn(const mil::Dim& dim) {
  if (dim.is_constant()) return;
  if (auto values = evaluate(dim)) known_.emplace(std::move(*values), dim);
}

std::optional<mil::Dim> Sizes::find(std::span<const int64_t> values) {
  if (std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; })) {
    return mil::Dim(values[0]);
  }
  const auto known = known_.find({values.begin(), values.end()});
  if (known != known_.end()) return known->second;
  std::vector<mil::Dim> linear = {mil::Dim(1)};
  std::optional<mil::Dim> found;
  for (const mil::Dim& symbol : symbols_) {
    linear.push_back(symbol);
    if (!found) found = fit(values, {mil::Dim(1), symbol});
  }
  std::vector<mil::Dim> quadratic = linear;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    for (size_t j = i; j < symbols_.size(); ++j) quadratic.push_back(symbols_[i] * symbols_[j]);
  }
  if (!found) found = fit(values, linear);
  if (!found) found = quotient(values);
  if (!found) found = fit(values, quadratic);
  if (found) learn(*found);
  return found;
}

// A sum of monomials with integer coefficients: elimination, then a check of every value.
std::optional<mil::Dim> Sizes::fit(std::span<const int64_t> values,
                                   const std::vector<mil::Dim>& monomials) const {
  const size_t n = monomials.size();
  if (values.size() < n || (values.size() == n && !are_all_)) return std::nullopt;
  std::vector<std::vector<int64_t>> columns;
  columns.reserve(n);
  for (const mil::Dim& monomial : monomials) columns.push_back(*evaluate(monomial));
  std::vector<std::vector<double>> rows(values.size(), std::vector<double>(n + 1));
  for (size_t k = 0; k < rows.size(); ++k) {
    for (size_t i = 0; i < n; ++i) rows[k][i] = static_cast<double>(columns[i][k]);
    rows[k][n] = static_cast<double>(values[k]);
  }
  for (size_t i = 0; i < n; ++i) {
    const auto pivot = std::max_element(
        rows.begin() + static_cast<int64_t>(i), rows.end(),
        [i](const auto& a, const auto& b) { return std::fabs(a[i]) < std::fabs(b[i]); });
    if (std::fabs((*pivot)[i]) < 1e-6) return std::nullopt;
    std::swap(rows[i], *pivot);
    for (size_t k = 0; k < rows.size(); ++k) {
      if (k == i) continue;
      const double factor = rows[k][i] / rows[i][i];
      for (size_t j = i; j <= n; ++j) rows[k][j] -= factor * rows[i][j];
    }
  }
  mil::Dim sum(0);
  for (size_t i = 0; i < n; ++i) {
    sum = sum + mil::Dim(std::llround(rows[i][n] / rows[i][i])) * monomials[i];
  }
  const auto found = evaluate(sum);
  if (!std::equal(values.begin(), values.end(), found->begin())) return std::nullopt;
  return sum;
}

// A known size divided by a number, rounded down or up.
std::optional<mil::Dim> Sizes::quotient(std::span<const int64_t> values) const {
  for (const auto& [sizes, dim] : known_) {
    if (values[0] <= 0) return std::nullopt;
    const int64_t nearest = (sizes[0] + values[0] / 2) / values[0];
    for (int64_t by = std::max<int64_t>(2, nearest - 1); by <= nearest + 1; ++by) {
      for (const int64_t more : {int64_t{0}, by - 1}) {
        bool fits = true;
        for (size_t k = 0; k < values.size(); ++k) {
          fits = fits && (sizes[k] + more) / by == values[k];
        }
        if (fits) return floor_div(dim + mil::Dim(more), mil::Dim(by));
      }
    }
  }
  return std::nullopt;
}

std::string Sizes::to_string() const {
  std::string text;
  for (size_t i = 0; i < choices_.size(); ++i) {
    text += (i == 0 ? "" : "; ") + choices_[i].name + " =";
    for (size_t k = 0; k < values_.size(); ++k) {
      text += fmt::format("{} {}", k == 0 ? "" : ",", values_[k][i]);
    }
  }
  return text;
}

}  // namespace pippin::mx
