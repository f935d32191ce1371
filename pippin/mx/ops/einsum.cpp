#include <algorithm>

#include <fmt/format.h>

#include "pippin/mx/loops/einsum_path.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/matmul.h"
#include "pippin/mx/ops/reduce.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"

namespace pippin::mx {
namespace {

struct Term {
  array value;
  std::string labels;
};

bool has(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

// Replaces repeated labels by one axis, their diagonal.
Term without_repeats(Term term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    const size_t again = term.labels.find(term.labels[i], i + 1);
    if (again == std::string::npos) continue;
    const char label = term.labels[i];
    term.value = diagonal(term.value, 0, static_cast<int>(i), static_cast<int>(again));
    term.labels.erase(again, 1);
    term.labels.erase(i, 1);
    term.labels += label;
    --i;
  }
  return term;
}

// Sums over the labels for which `drop` is true.
template <typename Drop>
Term summed(Term term, Drop drop) {
  std::vector<int> axes;
  std::string left;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (drop(term.labels[i])) {
      axes.push_back(static_cast<int>(i));
    } else {
      left += term.labels[i];
    }
  }
  if (!axes.empty()) {
    const Dtype dtype = term.value.dtype();
    term.value = astype(sum(term.value, axes), dtype);
  }
  return {term.value, left};
}

// Drops axes of size 1 that are larger in other operands.
Term without_singles(const Term& term, const std::map<char, int64_t>& sizes) {
  std::vector<int> axes;
  std::string left;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (term.value.shape()[i] == 1 && sizes.at(term.labels[i]) != 1) {
      axes.push_back(static_cast<int>(i));
    } else {
      left += term.labels[i];
    }
  }
  return axes.empty() ? term : Term{squeeze(term.value, axes), left};
}

// The axes in the order of `labels`; labels that the term lacks get size 1.
array ordered(const Term& term, const std::string& labels) {
  std::vector<int> order, missing;
  for (size_t i = 0; i < labels.size(); ++i) {
    const size_t at = term.labels.find(labels[i]);
    if (at == std::string::npos) {
      missing.push_back(static_cast<int>(i));
    } else {
      order.push_back(static_cast<int>(at));
    }
  }
  return expand_dims(transpose(term.value, order), missing);
}

int64_t product(const std::string& labels, const std::map<char, int64_t>& sizes) {
  int64_t result = 1;
  for (const char label : labels) result *= sizes.at(label);
  return result;
}

// Contracts two terms to one with the labels of `kept`.
Term contract(const Term& a, const Term& b, const std::string& kept,
              const std::map<char, int64_t>& sizes) {
  std::string batch, left, right, inner;
  for (const char label : a.labels) {
    if (!has(b.labels, label)) {
      left += label;
    } else {
      (has(kept, label) ? batch : inner) += label;
    }
  }
  for (const char label : b.labels) {
    if (!has(a.labels, label)) right += label;
  }
  const Dtype dtype = promote_types(a.value.dtype(), b.value.dtype());
  if (inner.empty() || !is_floating(dtype)) {
    const std::string all = batch + left + right + inner;
    Term result{multiply(ordered(a, all), ordered(b, all)), all};
    return summed(std::move(result), [&inner](char label) { return has(inner, label); });
  }
  Shape shape;
  for (const char label : batch) shape.push_back(sizes.at(label));
  Shape x_shape = shape, y_shape = shape;
  x_shape.push_back(product(left, sizes));
  x_shape.push_back(product(inner, sizes));
  y_shape.push_back(product(inner, sizes));
  y_shape.push_back(product(right, sizes));
  const array x = reshape(ordered(a, batch + left + inner), x_shape);
  const array y = reshape(ordered(b, batch + inner + right), y_shape);
  for (const char label : left + right) shape.push_back(sizes.at(label));
  return {reshape(matmul(x, y), shape), batch + left + right};
}

}  // namespace

array einsum(const std::string& text, const std::vector<array>& operands) {
  const Subscripts subscripts = parse_subscripts("einsum", text, operands);
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(
        without_singles(without_repeats({operands[i], subscripts.inputs[i]}), subscripts.sizes));
  }
  for (const EinsumStep& step : find_path(subscripts).steps) {
    std::vector<Term> chosen;
    for (size_t i = step.positions.size(); i-- > 0;) {
      const auto at = terms.begin() + step.positions[i];
      chosen.insert(chosen.begin(), *at);
      terms.erase(at);
    }
    // Labels that only one term has and no later step needs are summed immediately.
    std::string wanted = step.output;
    for (const Term& other : terms) wanted += other.labels;
    for (size_t i = 0; i < chosen.size(); ++i) {
      std::string others = wanted;
      for (size_t j = 0; j < chosen.size(); ++j) {
        if (j != i) others += chosen[j].labels;
      }
      chosen[i] = summed(chosen[i], [&others](char label) { return !has(others, label); });
    }
    Term result = chosen[0];
    for (size_t i = 1; i < chosen.size(); ++i) {
      std::string kept = wanted;
      for (size_t j = i + 1; j < chosen.size(); ++j) kept += chosen[j].labels;
      result = contract(result, chosen[i], kept, subscripts.sizes);
    }
    terms.push_back(std::move(result));
  }
  Shape shape;
  for (const char label : subscripts.output) shape.push_back(subscripts.sizes.at(label));
  return broadcast_to(ordered(terms[0], subscripts.output), shape);
}

std::pair<std::vector<std::vector<int>>, std::string> einsum_path(
    const std::string& text, const std::vector<array>& operands) {
  const Subscripts subscripts = parse_subscripts("einsum_path", text, operands);
  const EinsumPath path = find_path(subscripts);
  std::vector<std::vector<int>> positions;
  for (const EinsumStep& step : path.steps) positions.push_back(step.positions);
  const double speedup =
      static_cast<double>(path.naive_cost) / static_cast<double>(std::max<uint64_t>(1, path.cost));
  return {positions, fmt::format("  Complete contraction:  {}\n"
                                 "          Naive scaling:  {}\n"
                                 "      Naive FLOP count:  {}\n"
                                 "  Optimized FLOP count:  {}\n"
                                 "   Theoretical speedup:  {:.3f}\n"
                                 "  Largest intermediate:  {} elements\n",
                                 text, subscripts.sizes.size(), path.naive_cost, path.cost, speedup,
                                 path.largest)};
}

}  // namespace pippin::mx
