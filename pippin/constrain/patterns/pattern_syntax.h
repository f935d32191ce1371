// The syntax tree of a pattern.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/unicode/code_points.h"

namespace pippin::constrain {

struct PatternNode {
  enum class Kind : uint8_t {
    Set,       // one character of the set
    Sequence,  // of parts; may be empty
    Choice,    // one of the parts
    Repeat,    // parts[0], least to most times
    Begin,     // of the text
    End,
    WordBoundary,
    NoWordBoundary,
    Ahead,  // parts[0] must match the text that follows
    NotAhead,
  };
  Kind kind = Kind::Sequence;
  tokenizers::CodePoints set;
  std::vector<PatternNode> parts;
  uint32_t least = 0, most = 0;
};

inline constexpr uint32_t kNoLimit = UINT32_MAX;

// Throws as whole_pattern().
PatternNode parse_pattern(std::string_view source, std::string_view place);

}  // namespace pippin::constrain
