#include "pippin/mx/export/export_choices.h"

#include <algorithm>
#include <set>

#include "pippin/base/error.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

constexpr int64_t kUnbounded = int64_t{1} << 31;
// Recorded sizes are not much larger than this: constants are computed for each size.
constexpr int64_t kSpan = 24;
constexpr int64_t kMostBound = 4096;

// The type of an input or output: Core ML has no bools for them.
mil::DataType feature_type(Dtype dtype) {
  const mil::DataType type = mil_type(dtype);
  return type == mil::DataType::Bool ? mil::DataType::Int32 : type;
}

}  // namespace

ExportChoices::ExportChoices(const ExportedFunction& function) : function_(function) {
  const bool has_shapes = std::any_of(function.inputs.begin(), function.inputs.end(),
                                      [](const auto& input) { return !input.shapes.empty(); });
  for (const ExportedInput& input : function.inputs) {
    std::vector<Axis> axes;
    if (!input.shapes.empty()) {
      choose_shapes(input, axes);
    } else {
      for (size_t axis = 0; axis < input.shape.size(); ++axis) {
        const ExportedSize& size = input.shape[axis];
        if (size.lower < 0 || (size.upper >= 0 && size.upper < size.lower)) {
          fail(ErrorCode::InvalidArgument, "export: input {}: sizes from {} to {} on axis {}",
               input.name, size.lower, size.upper, axis);
        }
        if (size.is_range() && has_shapes) {
          fail(ErrorCode::InvalidArgument,
               "export: input {} has a range of sizes next to another input's list of shapes",
               input.name);
        }
        axes.push_back(size.is_range() ? Axis{0, choice_of(input, axis)}
                                       : Axis{size.lower, std::nullopt});
      }
    }
    axes_.push_back(std::move(axes));
  }
  if (values_.empty()) choose_values();
}

size_t ExportChoices::choice_of(const ExportedInput& input, size_t axis) {
  const ExportedSize& size = input.shape[axis];
  const int64_t upper = size.upper < 0 ? kUnbounded : size.upper;
  const std::string name = size.name.empty() ? input.name + "_" + std::to_string(axis) : size.name;
  for (size_t i = 0; i < choices_.size(); ++i) {
    if (choices_[i].name != name) continue;
    if (choices_[i].lower == size.lower && choices_[i].upper == upper) return i;
    fail(ErrorCode::InvalidArgument, "export: the size {} is from {} to {} and from {} to {}", name,
         choices_[i].lower, choices_[i].upper, size.lower, upper);
  }
  choices_.push_back({name, size.lower, upper});
  return choices_.size() - 1;
}

void ExportChoices::choose_shapes(const ExportedInput& input, std::vector<Axis>& axes) {
  if (!values_.empty()) {
    fail(ErrorCode::InvalidArgument,
         "export: input {} has a list of shapes, and so has another; one of a function can have it",
         input.name);
  }
  const Shape& first = input.shapes[0];
  for (const Shape& shape : input.shapes) {
    if (shape.size() != first.size()) {
      fail(ErrorCode::InvalidArgument, "export: input {} has shapes {} and {}", input.name,
           to_string(first), to_string(shape));
    }
  }
  values_.resize(input.shapes.size());
  for (size_t axis = 0; axis < first.size(); ++axis) {
    std::vector<int64_t> sizes;
    for (const Shape& shape : input.shapes) sizes.push_back(shape[axis]);
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    if (*least < 0) {
      fail(ErrorCode::InvalidArgument, "export: input {} has a size of {}", input.name, *least);
    }
    if (*least == *most) {
      axes.push_back({*least, std::nullopt});
      continue;
    }
    axes.push_back({0, choices_.size()});
    choices_.push_back({input.name + "_" + std::to_string(axis), *least, *most});
    for (size_t k = 0; k < sizes.size(); ++k) values_[k].push_back(sizes[k]);
  }
}

// Chooses more values than a quadratic expression of all sizes has coefficients, all different.
void ExportChoices::choose_values() {
  values_.emplace_back();
  if (choices_.empty()) return;
  values_.clear();
  are_all_ = false;
  const size_t n = choices_.size(), count = 1 + n + n * (n + 1) / 2 + 2;
  std::set<std::vector<int64_t>> seen;
  uint64_t random = 88172645463325252u;
  for (size_t tries = 0; tries < 64 * count && values_.size() < count; ++tries) {
    std::vector<int64_t> chosen;
    for (const Sizes::Choice& choice : choices_) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      const int64_t least = std::min(choice.upper, std::max<int64_t>(choice.lower, 2));
      const int64_t span = std::min(choice.upper - least + 1, kSpan);
      chosen.push_back(least + static_cast<int64_t>(random % static_cast<uint64_t>(span)));
    }
    if (seen.insert(chosen).second) values_.push_back(chosen);
  }
  int64_t possible = 1;
  for (const Sizes::Choice& choice : choices_) {
    possible =
        std::min(possible, int64_t{1} << 30) * std::min(choice.upper - choice.lower + 1, kSpan);
  }
  are_all_ = static_cast<int64_t>(values_.size()) == possible;
}

std::vector<std::vector<int64_t>> ExportChoices::bounds() const {
  std::vector<int64_t> least, most;
  for (const Sizes::Choice& choice : choices_) {
    least.push_back(choice.lower);
    most.push_back(std::min(choice.upper, std::max(kMostBound, choice.lower)));
  }
  std::vector<std::vector<int64_t>> result;
  if (are_all_) return result;
  for (const auto& bound : {least, most}) {
    if (std::find(values_.begin(), values_.end(), bound) == values_.end()) result.push_back(bound);
  }
  return result;
}

Shape ExportChoices::shape(size_t input, const std::vector<int64_t>& chosen) const {
  Shape result;
  for (const Axis& axis : axes_[input]) {
    result.push_back(axis.choice ? chosen[*axis.choice] : axis.number);
  }
  return result;
}

mil::Shape ExportChoices::shape(size_t input, const Sizes& sizes) const {
  mil::Shape result;
  for (const Axis& axis : axes_[input]) {
    result.push_back(axis.choice ? sizes.symbol(*axis.choice) : mil::Dim(axis.number));
  }
  return result;
}

mil::Feature ExportChoices::feature(size_t input) const {
  const ExportedInput& declared = function_.inputs[input];
  mil::Feature result;
  result.name = declared.name;
  result.data_type = feature_type(declared.dtype);
  for (const Shape& shape : declared.shapes) result.enumerated_shapes.push_back(to_vector(shape));
  if (!declared.shapes.empty()) {
    result.shape = result.enumerated_shapes[0];
    if (result.enumerated_shapes.size() == 1) result.enumerated_shapes.clear();
    return result;
  }
  bool has_range = false;
  for (const ExportedSize& size : declared.shape) {
    result.shape.push_back(std::max<int64_t>(size.lower, size.is_range() ? 1 : 0));
    result.ranges.push_back({size.lower, size.upper < 0 ? -1 : size.upper});
    has_range = has_range || size.is_range();
  }
  if (!has_range) result.ranges.clear();
  return result;
}

}  // namespace pippin::mx
