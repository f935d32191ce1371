// The sizes for which a function is recorded: the input sizes that callers choose, and some of
// their possible values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/mx/export/export.h"
#include "pippin/mx/record/sizes.h"

namespace pippin::mx {

class ExportChoices {
 public:
  // Throws InvalidArgument for invalid sizes.
  explicit ExportChoices(const ExportedFunction& function);

  // The chosen sizes, and the recorded values.
  const std::vector<Sizes::Choice>& choices() const { return choices_; }
  const std::vector<std::vector<int64_t>>& values() const { return values_; }
  // Whether these are all the values that callers can choose.
  bool are_all() const { return are_all_; }
  // The smallest and largest values that callers can choose, if they are not recorded.
  std::vector<std::vector<int64_t>> bounds() const;

  // The shape of an input for chosen sizes, and with symbols.
  Shape shape(size_t input, const std::vector<int64_t>& chosen) const;
  mil::Shape shape(size_t input, const Sizes& sizes) const;
  mil::Feature feature(size_t input) const;

 private:
  // A size is a number or one of choices_.
  struct Axis {
    int64_t number;
    std::optional<size_t> choice;
  };
  size_t choice_of(const ExportedInput& input, size_t axis);
  void choose_shapes(const ExportedInput& input, std::vector<Axis>& axes);
  void choose_values();

  const ExportedFunction& function_;
  std::vector<Sizes::Choice> choices_;
  std::vector<std::vector<int64_t>> values_;
  std::vector<std::vector<Axis>> axes_;  // for each input
  bool are_all_ = true;
};

}  // namespace pippin::mx
