#include "pippin/runtime/stop_strings.h"

#include <algorithm>
#include <utility>

namespace pippin::runtime {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  std::erase(strings_, "");
}

std::string StopStrings::push(std::string_view piece) {
  if (found_) return "";
  held_ += piece;
  size_t first = std::string::npos;
  for (const auto& string : strings_) {
    const size_t at = held_.find(string);
    if (at >= first) continue;
    first = at;
    which_ = string;
  }
  size_t sure = std::min(first, held_.size());
  found_ = first != std::string::npos;
  if (!found_) {
    for (const auto& string : strings_) {
      // The longest suffix of the text that is a prefix of this string.
      for (size_t size = std::min(string.size() - 1, held_.size()); size > 0; --size) {
        if (!held_.ends_with(std::string_view(string).substr(0, size))) continue;
        sure = std::min(sure, held_.size() - size);
        break;
      }
    }
  }
  std::string out = held_.substr(0, sure);
  held_.erase(0, found_ ? held_.size() : sure);
  return out;
}

std::string StopStrings::finish() {
  return std::exchange(held_, "");
}

}  // namespace pippin::runtime
