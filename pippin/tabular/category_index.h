// Categories, strings or whole numbers, and their positions.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <variant>

#include "pippin/tabular/stage.h"

namespace pippin::tabular {

// The first position of a repeated category counts.
class CategoryIndex {
 public:
  explicit CategoryIndex(Labels categories);

  size_t size() const { return size_; }
  const Labels& labels() const { return labels_; }
  bool is_text() const { return labels_.index() == 0; }
  // Values of the other type are converted if they can be. Throws InvalidArgument for arrays of
  // several numbers and for dictionaries.
  std::optional<size_t> find(const Value& value) const;
  std::optional<size_t> find(const std::string& text) const;
  std::optional<size_t> find(int64_t number) const;

 private:
  const Labels labels_;
  size_t size_;
  std::unordered_map<std::string, size_t> texts_;
  std::unordered_map<int64_t, size_t> numbers_;
};

// A value as it appears in messages: "'red'", "7".
std::string quoted(const Value& value);

}  // namespace pippin::tabular
