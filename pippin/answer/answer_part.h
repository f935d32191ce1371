// What an answer says, in the order in which it says it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pippin::answer {

struct AnswerPart {
  enum class Kind : uint8_t {
    Thoughts,    // `text`
    Content,     // `text`
    CallBegin,   // of the call `index`: `id` and the tool's name in `text`
    Arguments,   // of the call `index`: more of the JSON object in `text`
    CallEnd,     // of the call `index`: its arguments are complete
    CallBroken,  // the call `index` turned out to be none: what was read of it is in `text`
  };
  Kind kind = Kind::Content;
  std::string text = {};
  size_t index = 0;  // of calls, from 0
  std::string id = {};
};
using AnswerParts = std::vector<AnswerPart>;

// Adds to the last part where that is of the same kind.
inline void add_part(AnswerParts& parts, AnswerPart::Kind kind, std::string_view text,
                     size_t index = 0) {
  if (text.empty()) return;
  if (!parts.empty() && parts.back().kind == kind && parts.back().index == index) {
    parts.back().text += text;
  } else {
    parts.push_back({.kind = kind, .text = std::string(text), .index = index});
  }
}

// An answer as a whole.
struct Answer {
  struct Call {
    size_t index = 0;
    std::string id, name, arguments;
    bool is_complete = false;
  };
  std::string thoughts, content;
  std::vector<Call> calls;

  // A call that is broken becomes content again.
  void add(const AnswerParts& parts);
};

}  // namespace pippin::answer
