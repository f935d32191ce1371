// The parts of an answer, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pippin::model_output {

struct AnswerPart {
  enum class Kind : uint8_t {
    Thoughts,    // `text`
    Content,     // `text`
    CallBegin,   // of call `index`: `id`, and the tool's name in `text`
    Arguments,   // of call `index`: the next part of the JSON object in `text`
    CallEnd,     // of call `index`: its arguments are complete
    CallBroken,  // call `index` is not a call after all: its text so far is in `text`
  };
  Kind kind = Kind::Content;
  std::string text = {};
  size_t index = 0;  // of calls, from 0
  std::string id = {};
};
using AnswerParts = std::vector<AnswerPart>;

// Extends the last part if it has the same kind.
inline void add_part(AnswerParts& parts, AnswerPart::Kind kind, std::string_view text,
                     size_t index = 0) {
  if (text.empty()) return;
  if (!parts.empty() && parts.back().kind == kind && parts.back().index == index) {
    parts.back().text += text;
  } else {
    parts.push_back({.kind = kind, .text = std::string(text), .index = index});
  }
}

// A whole answer.
struct Answer {
  struct Call {
    size_t index = 0;
    std::string id, name, arguments;
    bool is_complete = false;
  };
  std::string thoughts, content;
  std::vector<Call> calls;

  // Turns a broken call back into content.
  void add(const AnswerParts& parts);
};

}  // namespace pippin::model_output
