// Text splitting: a pattern finds matches, and a behaviour says what becomes of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/regex/regex.h"
#include "pippin/tokenizers/stages.h"

namespace pippin::tokenizers {

// A range of text that a pattern matched, or the text between two matches.
struct Segment {
  size_t begin;
  size_t end;
  bool is_match;
};

enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

SplitBehavior read_split_behavior(const Json& config);

// A pattern from JSON, a string or a regex: {"String": " "} or {"Regex": "\\s+"}.
class Pattern {
 public:
  explicit Pattern(const Json& config);
  // A regex, for patterns that are part of a stage.
  explicit Pattern(Regex regex) : regex_(std::move(regex)) {}

  std::vector<TextRange> find_all(std::string_view text) const;

 private:
  std::string literal_;
  std::optional<Regex> regex_;
};

// Returns all of `text` as segments, in order.
std::vector<Segment> segments(const std::vector<TextRange>& matches, std::string_view text,
                              bool invert = false);

// Returns single characters for which `matches(c)` holds as segments, and the text between them.
std::vector<Segment> character_segments(std::string_view text, bool (*matches)(char32_t));

// Returns the remaining parts of the text, in order.
std::vector<TextRange> apply_behavior(const std::vector<Segment>& segments, SplitBehavior behavior);

}  // namespace pippin::tokenizers
