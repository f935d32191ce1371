#include "pippin/runtime/package/argmax_head.h"

#include <algorithm>
#include <limits>

#include "pippin/base/error.h"

namespace pippin::runtime {

ArgmaxHead::ArgmaxHead(const std::vector<int64_t>& sizes) {
  for (const int64_t size : sizes) {
    offsets_.push_back(offsets_.back() + size);
    if (offsets_.back() > std::numeric_limits<int32_t>::max()) {
      fail(ErrorCode::InvalidFile, "a vocabulary of {} tokens", offsets_.back());
    }
  }
}

bool ArgmaxHead::gives_every_row(const StepRunner& runner, int64_t query) const {
  return offsets_.size() == 2 && std::ssize(runner.argmax_indices()) == query;
}

int32_t ArgmaxHead::take(const StepRunner& runner, int64_t token, std::span<float> row,
                         size_t lane) const {
  const auto indices = runner.argmax_indices(lane);
  const auto values = runner.argmax_values(lane);
  size_t place = 0, part = 0;
  if (offsets_.size() == 2) {
    place = static_cast<size_t>(std::min<int64_t>(token, std::ssize(indices) - 1));
  } else {
    part = static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
    place = part;
  }
  const int64_t id = indices[place] + offsets_[part];
  if (indices[place] < 0 || id >= offsets_[part + 1]) {
    fail(ErrorCode::InvalidFile, "'{}' is {}; part {} of the vocabulary has {} tokens",
         runner.schema().argmax_index, indices[place], part + 1,
         offsets_[part + 1] - offsets_[part]);
  }
  std::fill(row.begin(), row.end(), -std::numeric_limits<float>::infinity());
  row[static_cast<size_t>(id)] = place < values.size() ? values[place] : 0;
  return static_cast<int32_t>(id);
}

}  // namespace pippin::runtime
