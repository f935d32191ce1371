#include "pippin/tabular/category_index.h"

#include <cmath>

#include <fmt/format.h>

#include "pippin/base/numbers/number.h"

namespace pippin::tabular {
CategoryIndex::CategoryIndex(Labels categories)
    : labels_(std::move(categories)),
      size_(std::visit([](const auto& list) { return list.size(); }, labels_)) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&labels_)) {
    for (size_t i = 0; i < texts->size(); ++i) texts_.emplace((*texts)[i], i);
  } else {
    const auto& numbers = std::get<std::vector<int64_t>>(labels_);
    for (size_t i = 0; i < numbers.size(); ++i) numbers_.emplace(numbers[i], i);
  }
}

std::optional<size_t> CategoryIndex::find(const std::string& text) const {
  if (!is_text()) {
    int64_t number = 0;
    return parse_number(text, number) ? find(number) : std::nullopt;
  }
  const auto found = texts_.find(text);
  if (found == texts_.end()) return std::nullopt;
  return found->second;
}

std::optional<size_t> CategoryIndex::find(int64_t number) const {
  if (is_text()) return find(fmt::format("{}", number));
  const auto found = numbers_.find(number);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

std::optional<size_t> CategoryIndex::find(const Value& value) const {
  if (const auto* text = std::get_if<std::string>(&value)) return find(*text);
  if (const auto* whole = std::get_if<int64_t>(&value)) return find(*whole);
  const double number = to_number(value);
  const bool is_whole = std::trunc(number) == number && std::abs(number) < 0x1p63;
  return is_whole ? find(static_cast<int64_t>(number)) : std::nullopt;
}

std::string quoted(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return fmt::format("'{}'", *text);
  if (const auto* whole = std::get_if<int64_t>(&value)) return fmt::format("{}", *whole);
  return fmt::format("{}", to_number(value));
}

}  // namespace pippin::tabular
