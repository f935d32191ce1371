// Parses answers that consist of messages with headers (Harmony, gpt-oss's format):
//   <|channel|>analysis<|message|>...<|end|><|start|>assistant
//   <|channel|>commentary to=functions.F <|constrain|>json<|message|>{...}<|call|>
// Messages on "analysis" are thoughts, messages to a function are calls, others are content.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/model_output/answer_part.h"
#include "pippin/model_output/call_parser.h"
#include "pippin/model_output/json_scanner.h"

namespace pippin::model_output {

// The marks of the format, all special tokens.
inline constexpr std::string_view kChannelMarks[] = {"<|start|>",     "<|channel|>", "<|message|>",
                                                     "<|constrain|>", "<|end|>",     "<|call|>",
                                                     "<|return|>"};

class ChannelParser {
 public:
  // `header`: the part of a message that the prompt has begun, from its last "<|start|>" on.
  // `keeps_marks`: thoughts stay content, with their marks.
  ChannelParser(CallParserOptions options, std::string header, bool keeps_marks);

  void push(std::string_view text, AnswerParts& parts);
  void finish(bool was_cut, AnswerParts& parts);
  bool is_thinking() const { return state_ == State::Body && kind_ == AnswerPart::Kind::Thoughts; }
  bool is_over() const { return is_over_; }

 private:
  enum class State : uint8_t { Header, Body, Call };
  bool step(bool is_all, AnswerParts& parts);
  void begin_message(AnswerParts& parts);
  void end_message(AnswerParts& parts);
  void broken(AnswerParts& parts);
  void give(std::string_view text, AnswerParts& parts);

  const CallParserOptions options_;
  const bool keeps_marks_;
  State state_ = State::Header;
  AnswerPart::Kind kind_ = AnswerPart::Kind::Content;
  std::string text_;  // unread
  std::string header_;
  std::string blanks_;        // after thoughts
  bool is_at_begin_ = false;  // of the thoughts
  JsonScanner scanner_;
  std::string raw_;  // original text of a call
  size_t num_calls_ = 0;
  bool is_over_ = false;
};

}  // namespace pippin::model_output
