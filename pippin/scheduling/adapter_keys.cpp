#include "pippin/scheduling/adapter_keys.h"

#include <algorithm>

namespace pippin::scheduling {
namespace {

constexpr int64_t kFirst = int64_t{1} << 30;  // above the ids of tokens
constexpr size_t kMostOthers = 4096;

}  // namespace

AdapterKeys::AdapterKeys(const runtime::Model& model) : ids_(model.num_ids()) {
  scales_.reserve(model.adapters().size());
  for (const runtime::RunAdapter& adapter : model.adapters()) scales_.push_back(adapter.scale);
}

int64_t AdapterKeys::key_of(std::span<const float> adapters) {
  const auto count =
      std::count_if(adapters.begin(), adapters.end(), [](float x) { return x != 0; });
  if (count == 0) return 0;
  for (size_t i = 0; count == 1 && i < std::min(adapters.size(), scales_.size()); ++i) {
    if (adapters[i] != 0 && adapters[i] == scales_[i]) return static_cast<int64_t>(i) + 1;
  }
  const std::vector<float> numbers(adapters.begin(), adapters.end());
  const auto found = others_.find(numbers);
  if (found != others_.end()) return found->second;
  if (others_.size() >= kMostOthers) return -1;
  const auto key = static_cast<int64_t>(scales_.size() + others_.size()) + 1;
  others_.emplace(numbers, key);
  return key;
}

std::span<const int32_t> AdapterKeys::keyed(std::span<const int32_t> tokens,
                                            std::span<const float> adapters) {
  const int64_t key = key_of(adapters);
  if (key == 0 || tokens.empty()) return tokens;
  const int64_t first = kFirst + (key - 1) * ids_ + tokens.front();
  if (key < 0 || tokens.front() < 0 || first > INT32_MAX) return {};
  tokens_.assign(tokens.begin(), tokens.end());
  tokens_.front() = static_cast<int32_t>(first);
  return tokens_;
}

std::vector<int32_t> AdapterKeys::plain(std::span<const int32_t> keyed) const {
  std::vector<int32_t> tokens(keyed.begin(), keyed.end());
  if (!tokens.empty() && tokens.front() >= kFirst) {
    tokens.front() = static_cast<int32_t>((tokens.front() - kFirst) % ids_);
  }
  return tokens;
}

bool AdapterKeys::is_lasting(int32_t first) const {
  return first < kFirst + static_cast<int64_t>(scales_.size()) * ids_;
}

}  // namespace pippin::scheduling
