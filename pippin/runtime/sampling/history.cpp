#include <algorithm>

#include "pippin/runtime/sampling/processor.h"

namespace pippin::runtime {

void TokenHistory::add_prompt(std::span<const int32_t> ids) {
  for (const int32_t id : ids) ++counts_[id].all;
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  first_generated_ = tokens_.size();
}

void TokenHistory::add_generated(int32_t id) {
  tokens_.push_back(id);
  Count& count = counts_[id];
  ++count.all;
  ++count.generated;
}

const std::unordered_map<int32_t, TokenHistory::Count>& TokenHistory::counts(int64_t last_n) const {
  const auto size = static_cast<int64_t>(tokens_.size());
  if (last_n == 0 || last_n >= size) return counts_;
  recent_.clear();
  for (auto i = static_cast<size_t>(size - last_n); i < tokens_.size(); ++i) {
    Count& count = recent_[tokens_[i]];
    ++count.all;
    if (i >= first_generated_) ++count.generated;
  }
  return recent_;
}

}  // namespace pippin::runtime
