// Splits an answer into thoughts, content and tool calls while it is generated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/model_output/answer_part.h"
#include "pippin/model_output/call_parser.h"
#include "pippin/model_output/call_syntax.h"
#include "pippin/model_output/channel_parser.h"
#include "pippin/model_output/reasoning.h"
#include "pippin/model_output/tool.h"

namespace pippin::model_output {

struct AnswerParserOptions {
  std::shared_ptr<const ReasoningMarks> reasoning;  // null: the model has no thoughts
  bool splits_thoughts = true;                      // false: they stay content, with their marks
  bool is_thinking = false;                         // the prompt has opened the thoughts
  std::shared_ptr<const CallSyntax> syntax;         // null: the model does not call tools
  std::shared_ptr<const std::vector<Tool>> tools;   // null or empty: none is offered
  bool is_parallel = true;                          // several calls are accepted
  std::function<std::string()> make_id;             // ids for calls
  std::string prompt;                               // its end may have begun a message
};

class AnswerParser {
 public:
  explicit AnswerParser(AnswerParserOptions options);

  // Processes a token and its text, which may be empty. Special tokens of marks must appear in the
  // text: see shown_tokens().
  AnswerParts push(int32_t id, std::string_view piece);
  // Processes the rest of the text at the end. `was_cut`: by a limit.
  AnswerParts finish(std::string_view rest, bool was_cut);
  bool is_thinking() const;
  // Returns whether all further text is ignored.
  bool is_over() const;

 private:
  void add(ReasoningSplitter::Parts parts, AnswerParts& out);

  const bool splits_thoughts_;
  ReasoningSplitter splitter_;
  std::optional<CallParser> calls_;
  std::optional<ChannelParser> channels_;
};

// Returns the special tokens in the syntax's marks; their text must be in the pieces.
std::vector<int32_t> shown_tokens(const CallSyntax& syntax, const Tokenizer& tokenizer);

}  // namespace pippin::model_output
