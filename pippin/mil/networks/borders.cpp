#include "pippin/mil/networks/borders.h"

#include "pippin/base/error.h"

namespace pippin::mil::networks {

std::vector<int64_t> positive(const Fields& parameters, const Field& field, size_t count,
                              int64_t absent) {
  std::vector<int64_t> values = parameters.integers(field);
  if (values.empty()) values.assign(count, absent);
  if (values.size() != count) {
    fail(ErrorCode::InvalidFile, "{} has {} numbers, not {}", field.name, values.size(), count);
  }
  for (const int64_t value : values) {
    if (value < 1 || value > kMostSize) {
      fail(ErrorCode::InvalidFile, "{} is {}, not 1 to {}", field.name, value, kMostSize);
    }
  }
  return values;
}

std::vector<int64_t> three_sizes(const Fields& parameters, uint32_t first, std::string_view name) {
  std::vector<int64_t> values;
  values.reserve(3);
  for (uint32_t i = 0; i < 3; ++i) {
    const int64_t value = parameters.integer({first + i, name});
    if (value < 0 || value > kMostSize)
      fail(ErrorCode::InvalidFile, "{} is {}, not 0 to {}", name, value, kMostSize);
    values.push_back(value == 0 ? 1 : value);
  }
  return values;
}

std::vector<int64_t> border_amounts(const Fields& borders) {
  std::vector<int64_t> amounts;
  for (const Fields& edge : borders.messages({10, "borderAmounts"})) {
    for (const Field& side : {Field{1, "startEdgeSize"}, Field{2, "endEdgeSize"}}) {
      amounts.push_back(edge.integer(side));
      if (amounts.back() < 0 || amounts.back() > kMostSize) {
        fail(ErrorCode::InvalidFile, "{} is {}, not 0 to {}", side.name, amounts.back(), kMostSize);
      }
    }
  }
  if (!amounts.empty() && amounts.size() != 4) {
    fail(ErrorCode::InvalidFile, "borderAmounts for {} axes, not 2", amounts.size() / 2);
  }
  return amounts;
}

Borders read_borders(const Fields& parameters, uint32_t valid) {
  Borders borders;
  const Field valid_field{valid, "valid"}, same_field{valid + 1, "same"};
  if (parameters.has(same_field)) {
    const bool lower = parameters.message(same_field).choice({1, "asymmetryMode"}, 2) == 1;
    borders.type = lower ? "same_lower" : "same";
    return borders;
  }
  borders.amounts = border_amounts(parameters.message(valid_field).message({1, "paddingAmounts"}));
  return borders;
}

Borders read_borders3(const Fields& parameters, const Field& type, uint32_t first) {
  constexpr int64_t kCustom = 0, kValid = 1, kSame = 2;
  Borders borders;
  const int64_t kind = parameters.integer(type);
  if (kind == kSame) {
    borders.type = "same";
  } else if (kind == kCustom) {
    for (uint32_t i = 0; i < 6; ++i) {
      borders.amounts.push_back(parameters.integer({first + i, "customPadding"}));
      if (borders.amounts.back() < 0 || borders.amounts.back() > kMostSize) {
        fail(ErrorCode::InvalidFile, "an amount of padding is {}, not 0 to {}",
             borders.amounts.back(), kMostSize);
      }
    }
  } else if (kind != kValid) {
    fail(ErrorCode::InvalidFile, "unknown {} {}", type.name, kind);
  }
  return borders;
}

void add_borders(const Borders& borders, Graph::Arguments& arguments) {
  if (borders.type == "custom" && borders.amounts.empty()) {
    arguments.push_back({"pad_type", {text("valid")}});
    return;
  }
  arguments.push_back({"pad_type", {text(borders.type)}});
  if (!borders.amounts.empty()) arguments.push_back({"pad", {integers(borders.amounts)}});
}

}  // namespace pippin::mil::networks
