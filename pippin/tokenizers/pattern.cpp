#include "pippin/tokenizers/pattern.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::tokenizers {

SplitBehavior read_split_behavior(const Json& config) {
  const std::string_view name = config.as_string();
  if (name == "Removed") return SplitBehavior::Removed;
  if (name == "Isolated") return SplitBehavior::Isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::MergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::MergedWithNext;
  if (name == "Contiguous") return SplitBehavior::Contiguous;
  fail(ErrorCode::InvalidFile, "{}: '{}' is not a split behavior", config.where(), name);
}

Pattern::Pattern(const Json& config) {
  if (config.has("Regex")) {
    regex_.emplace(config.get_string("Regex"), config.where());
    return;
  }
  literal_ = config.get_string("String");
  if (literal_.empty()) regex_.emplace("", config.where());  // matches everywhere
}

std::vector<TextRange> Pattern::find_all(std::string_view text) const {
  if (regex_) return regex_->find_all(text);
  std::vector<TextRange> found;
  for (size_t at = text.find(literal_); at != std::string_view::npos;
       at = text.find(literal_, at + literal_.size())) {
    found.push_back({at, at + literal_.size()});
  }
  return found;
}

std::vector<Segment> segments(const std::vector<TextRange>& matches, std::string_view text,
                              bool invert) {
  std::vector<Segment> result;
  if (text.empty()) return {{0, 0, invert}};
  result.reserve(2 * matches.size() + 1);
  size_t end = 0;
  for (const auto& match : matches) {
    if (match.begin != end) result.push_back({end, match.begin, invert});
    result.push_back({match.begin, match.end, !invert});
    end = match.end;
  }
  if (end != text.size()) result.push_back({end, text.size(), invert});
  return result;
}

std::vector<Segment> character_segments(std::string_view text, bool (*matches)(char32_t)) {
  std::vector<Segment> result;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t at = i;
    if (!matches(decode_utf8(text, i))) continue;
    if (begin < at) result.push_back({begin, at, false});
    result.push_back({at, i, true});
    begin = i;
  }
  if (begin < text.size()) result.push_back({begin, text.size(), false});
  return result;
}

std::vector<TextRange> apply_behavior(const std::vector<Segment>& segments,
                                      SplitBehavior behavior) {
  std::vector<TextRange> result;
  result.reserve(segments.size());
  bool previous = false;
  switch (behavior) {
    case SplitBehavior::Removed:
      for (const auto& segment : segments) {
        if (!segment.is_match) result.push_back({segment.begin, segment.end});
      }
      break;
    case SplitBehavior::Isolated:
      for (const auto& segment : segments) result.push_back({segment.begin, segment.end});
      break;
    case SplitBehavior::Contiguous:
      for (const auto& segment : segments) {
        if (segment.is_match == previous && !result.empty()) {
          result.back().end = segment.end;
        } else {
          result.push_back({segment.begin, segment.end});
        }
        previous = segment.is_match;
      }
      break;
    case SplitBehavior::MergedWithPrevious:
      for (const auto& segment : segments) {
        if (segment.is_match && !previous && !result.empty()) {
          result.back().end = segment.end;
        } else {
          result.push_back({segment.begin, segment.end});
        }
        previous = segment.is_match;
      }
      break;
    case SplitBehavior::MergedWithNext:
      for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
        if (segment->is_match && !previous && !result.empty()) {
          result.back().begin = segment->begin;
        } else {
          result.push_back({segment->begin, segment->end});
        }
        previous = segment->is_match;
      }
      std::reverse(result.begin(), result.end());
      break;
  }
  return result;
}

}  // namespace pippin::tokenizers
