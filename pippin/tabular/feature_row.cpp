#include "pippin/tabular/feature_row.h"

#include <limits>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin::tabular {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

void check_type(const Field& field, bool alone) {
  with_context(fmt::format("input '{}'", field.name), [&] {
    if (field.type == Field::Type::Dictionary && alone) return;
    if (field.type == Field::Type::Dictionary) {
      fail(ErrorCode::InvalidFile, "a dictionary next to other inputs");
    }
    if (field.type == Field::Type::String || field.type == Field::Type::Other) {
      fail(ErrorCode::InvalidFile, "its type is neither a number nor an array");
    }
  });
}

// The number of elements, if all inputs declare theirs.
std::optional<int64_t> declared_width(const std::vector<Field>& fields) {
  std::optional<int64_t> width = 0;
  for (const Field& field : fields) {
    const std::optional<int64_t> size = field.size();
    width = width && size ? checked_add(*width, *size) : std::nullopt;
  }
  return width;
}

}  // namespace

FeatureRow::FeatureRow(const Interface& interface, size_t width, Width meaning)
    : fields_(interface.inputs), width_(width), meaning_(meaning) {
  if (fields_.empty()) fail(ErrorCode::InvalidFile, "the model has no inputs");
  for (const Field& field : fields_) check_type(field, fields_.size() == 1);
  if (width > static_cast<size_t>(kMaxRowSize)) {
    fail(ErrorCode::LimitExceeded, "a row has {} numbers, at most {} are supported", width,
         kMaxRowSize);
  }
  const std::optional<int64_t> declared = declared_width(fields_);
  const auto needed = static_cast<int64_t>(width);
  if (!declared || *declared == needed || (meaning == Width::AtLeast && *declared > needed)) return;
  fail(ErrorCode::InvalidFile, "the inputs have {} numbers, the model takes {}{}", *declared,
       meaning == Width::AtLeast ? "at least " : "", needed);
}

std::vector<double> FeatureRow::read(std::span<const Value> inputs) const {
  if (const auto* dictionary = std::get_if<Dictionary>(&inputs.front())) {
    return with_context(fmt::format("input '{}'", fields_.front().name),
                        [&] { return spread(*dictionary); });
  }
  std::vector<double> row;
  row.reserve(width_);
  for (size_t i = 0; i < fields_.size(); ++i) add(fields_[i], inputs[i], row);
  if (row.size() < width_ || (row.size() > width_ && meaning_ == Width::Exact)) {
    fail(ErrorCode::InvalidArgument, "the inputs have {} numbers, the model takes {}{}", row.size(),
         meaning_ == Width::AtLeast ? "at least " : "", width_);
  }
  return row;
}

void FeatureRow::add(const Field& field, const Value& value, std::vector<double>& row) const {
  if (const auto* array = std::get_if<Array>(&value)) {
    row.insert(row.end(), array->values.begin(), array->values.end());
  } else if (std::holds_alternative<std::monostate>(value)) {
    const std::optional<int64_t> size = field.size();
    if (!size || *size > static_cast<int64_t>(width_)) {
      fail(ErrorCode::InvalidArgument, "input '{}': no value", field.name);
    }
    row.insert(row.end(), static_cast<size_t>(*size), kMissing);
  } else {
    row.push_back(
        with_context(fmt::format("input '{}'", field.name), [&] { return to_number(value); }));
  }
}

std::vector<double> FeatureRow::spread(const Dictionary& dictionary) const {
  std::vector<double> row(width_, 0.0);
  const std::vector<int64_t> keys = integer_keys(dictionary);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] >= static_cast<int64_t>(width_) && meaning_ == Width::AtLeast) {
      // Its position does not matter to the model, but distances contain it.
      row.push_back(dictionary.values[i]);
      continue;
    }
    check_position(keys[i], width_);
    row[static_cast<size_t>(keys[i])] = dictionary.values[i];
  }
  return row;
}

void check_position(int64_t key, size_t size) {
  if (key >= 0 && static_cast<uint64_t>(key) < size) return;
  fail(ErrorCode::InvalidArgument, "the key {} is not a position; there are {}", key, size);
}

}  // namespace pippin::tabular
