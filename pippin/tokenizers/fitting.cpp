#include "pippin/tokenizers/fitting.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/tokenizers/tables/json_file.h"

namespace pippin::tokenizers {
namespace {

constexpr size_t kMaxPadded = size_t{1} << 24;

// Whether the direction is Left.
bool is_left(const Json& config) {
  const std::string name = config.find_string("direction").value_or("Right");
  if (name != "Left" && name != "Right") config.at("direction").invalid("Left or Right is needed");
  return name == "Left";
}

size_t size(const Json& config) {
  return static_cast<size_t>(integer(config, 0, INT64_MAX));
}

}  // namespace

Truncation::Truncation(const Json& config)
    : max_length_(size(config.at("max_length"))),
      stride_(size(config.at("stride"))),
      keep_end_(is_left(config)) {
  const std::string name = config.get_string("strategy");
  if (name == "LongestFirst") {
    strategy_ = Strategy::LongestFirst;
  } else if (name == "OnlyFirst") {
    strategy_ = Strategy::OnlyFirst;
  } else if (name == "OnlySecond") {
    strategy_ = Strategy::OnlySecond;
  } else {
    config.at("strategy").invalid("LongestFirst, OnlyFirst or OnlySecond is needed");
  }
}

void Truncation::apply(std::vector<int32_t>& ids, size_t added) const {
  if (max_length_ < added) {
    fail(ErrorCode::InvalidArgument, "truncation to {} ids has no room for {} special tokens",
         max_length_, added);
  }
  const size_t room = max_length_ - added;
  if (ids.size() <= room) return;
  if (room == 0) {
    ids.clear();
    return;
  }
  if (strategy_ == Strategy::OnlySecond) {
    fail(ErrorCode::InvalidArgument, "truncation of the second text only, and there is one text");
  }
  if (stride_ >= room) {
    fail(ErrorCode::InvalidArgument, "truncation with a stride of {} to {} ids next to {} special",
         stride_, room, added);
  }
  if (keep_end_) {
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(room));
  } else {
    ids.resize(room);
  }
}

size_t cut_longest(std::vector<int32_t>& first, std::vector<int32_t>& second, size_t room) {
  const size_t before = first.size() + second.size();
  if (before <= room) return 0;
  const bool first_is_shorter = first.size() <= second.size();
  size_t shorter = std::min(first.size(), second.size());
  size_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = shorter + room % 2;
  }
  first.resize(std::min(first.size(), first_is_shorter ? shorter : longer));
  second.resize(std::min(second.size(), first_is_shorter ? longer : shorter));
  return before - first.size() - second.size();
}

Padding::Padding(const Json& config)
    : at_start_(is_left(config)),
      id_(static_cast<int32_t>(integer(config.at("pad_id"), 0, kMaxTokenId))) {
  const Json strategy = config.at("strategy");
  const bool fixed = strategy.is_object();
  if (fixed) {
    fixed_ = size(strategy.at("Fixed"));
  } else if (strategy.as_string() != "BatchLongest") {
    strategy.invalid("BatchLongest or a fixed length is needed");
  }
  // A fixed length of 0 adds no padding.
  if (config.has("pad_to_multiple_of") && !(fixed && fixed_ == 0))
    multiple_ = size(config.at("pad_to_multiple_of"));
}

void Padding::apply(std::vector<int32_t>& ids) const {
  size_t length = fixed_ > 0 ? fixed_ : ids.size();
  if (length > kMaxPadded || multiple_ > kMaxPadded) {
    fail(ErrorCode::LimitExceeded, "padding to {} ids (a multiple of {}), at most {} are made",
         length, multiple_, kMaxPadded);
  }
  if (multiple_ > 0) length = (length + multiple_ - 1) / multiple_ * multiple_;
  if (length <= ids.size()) return;
  ids.insert(at_start_ ? ids.begin() : ids.end(), length - ids.size(), id_);
}

}  // namespace pippin::tokenizers
