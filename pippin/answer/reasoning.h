// Thoughts, which some models write before their answer, between marks that their chat template
// knows: "<think>" and "</think>", or others.
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

namespace pippin::answer {

// A mark as the model writes it: its text where the tokenizer shows it, its tokens where it has
// special ones in it, which leave no text.
struct Mark {
  std::string text;          // without blanks at its ends
  std::vector<int32_t> ids;  // empty: known by its text
};

struct ReasoningMarks {
  Mark begin, end;
};

// What the template writes around the thoughts of a message that has some; where it leaves them
// out, the marks of the field that stand in its source. Nothing for a template without any.
// `tokenizer` null: all marks are known by their texts.
std::optional<ReasoningMarks> find_reasoning(const ChatTemplate& chat, const Tokenizer* tokenizer);

// Whether an answer to this prompt begins within thoughts: the prompt has opened them.
bool begins_thinking(const ReasoningMarks& marks, std::string_view prompt);

// The text behind the last thoughts in it; all of it where there are none.
std::string_view behind_thoughts(std::string_view text);

// Splits an answer into thoughts and the rest, token by token. Text that may be part of a mark is
// held back.
class ReasoningSplitter {
 public:
  struct Parts {
    std::string reasoning, content;
  };

  // `marks` null: all is content. `keeps_marks`: thoughts have their marks and all blanks.
  ReasoningSplitter(std::shared_ptr<const ReasoningMarks> marks, bool is_thinking,
                    bool keeps_marks = false);

  Parts push(int32_t id, std::string_view piece);
  // The rest, at the end of the text.
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
  void pass(Parts& parts);  // a mark
  const Mark* awaited() const;

  std::shared_ptr<const ReasoningMarks> marks_;
  bool keeps_marks_;
  State state_;
  bool is_at_begin_;        // of thoughts, or of what follows them: blanks are dropped
  std::string blanks_;      // of which it is not known yet whether they are
  std::deque<Step> steps_;  // tokens that may be a mark's
  std::string held_;        // text that may be
};

}  // namespace pippin::answer
