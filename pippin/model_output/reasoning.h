// Thoughts, which some models write before their answer, between marks that their chat template
// contains: "<think>" and "</think>", or others.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/chat/chat_template.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::model_output {

// A mark in a model's output: its text if the tokenizer shows it, or its tokens if it has special
// tokens, which have no text.
struct Mark {
  std::string text;          // without blanks at its ends
  std::vector<int32_t> ids;  // empty: recognized by its text
};

struct ReasoningMarks {
  Mark begin, end;
};

// Finds the marks that the template writes around a message's thoughts; if it drops thoughts, looks
// for well-known marks in its source. Returns nothing for a template without marks. `tokenizer`
// null: all marks are recognized by their text.
std::optional<ReasoningMarks> find_reasoning(const ChatTemplate& chat, const Tokenizer* tokenizer);

// Returns whether an answer to this prompt begins within thoughts, because the prompt opened them.
bool begins_thinking(const ReasoningMarks& marks, std::string_view prompt);

// Returns the text after the last thoughts; all of it if none exist.
std::string_view behind_thoughts(std::string_view text);

// Splits an answer into thoughts and content, token by token. Holds back text that may be part of a
// mark.
class ReasoningSplitter {
 public:
  struct Parts {
    std::string reasoning, content;
  };

  // `marks` null: all text is content. `keeps_marks`: thoughts keep their marks and all blanks.
  ReasoningSplitter(std::shared_ptr<const ReasoningMarks> marks, bool is_thinking,
                    bool keeps_marks = false);

  Parts push(int32_t id, std::string_view piece);
  // Returns the rest, at the end of the text.
  Parts finish(std::string_view rest);
  bool is_thinking() const { return state_ == State::Thinking; }

 private:
  enum class State { Start, Thinking, Content };
  struct Step {
    int32_t id;
    std::string piece;
  };

  void take_text(std::string_view text, Parts& parts);
  void give(std::string_view text, Parts& parts);
  void pass(Parts& parts);  // after a mark
  const Mark* awaited() const;

  std::shared_ptr<const ReasoningMarks> marks_;
  bool keeps_marks_;
  State state_;
  bool is_at_begin_;        // of thoughts or of the text after them: blanks are dropped
  std::string blanks_;      // may be dropped
  std::deque<Step> steps_;  // tokens that may be part of a mark
  std::string held_;        // text that may be part of a mark
};

}  // namespace pippin::model_output
