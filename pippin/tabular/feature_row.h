// The inputs of a model as one row of numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/tabular/interface.h"

namespace pippin::tabular {

class FeatureRow {
 public:
  enum class Width : uint8_t { Exact, AtLeast };

  // All inputs, in their order: numbers and arrays; or one dictionary from positions to numbers,
  // in which absent positions are 0. `width` is the length that the model needs. Throws InvalidFile
  // if the inputs are of other types, or if their sizes are declared and do not fit.
  FeatureRow(const Interface& interface, size_t width, Width meaning);

  // Absent inputs are NaN. Throws InvalidArgument for another number of elements than needed.
  std::vector<double> read(std::span<const Value> inputs) const;

 private:
  void add(const Field& field, const Value& value, std::vector<double>& row) const;
  std::vector<double> spread(const Dictionary& dictionary) const;

  const std::vector<Field> fields_;
  const size_t width_;
  const Width meaning_;
};

// The limit on a row's length, whatever a file declares.
inline constexpr int64_t kMaxRowSize = int64_t{1} << 24;

// Throws InvalidArgument unless `key` is a position below `size`.
void check_position(int64_t key, size_t size);

}  // namespace pippin::tabular
