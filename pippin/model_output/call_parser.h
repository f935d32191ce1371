// Splits an answer into content and tool calls while it is generated.
//
// Tolerant: blanks may differ from the syntax, outer marks may be missing, JSON may have small
// errors. Text that begins like a call but is not one, and calls of tools that were not offered,
// stay content. A call is reported as soon as its tool is known, and its arguments as they arrive.
// Reported parts are final, except for a call that breaks off in its arguments
// (AnswerPart::CallBroken).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/model_output/answer_part.h"
#include "pippin/model_output/call_head.h"
#include "pippin/model_output/call_syntax.h"
#include "pippin/model_output/json_scanner.h"
#include "pippin/model_output/tool.h"

namespace pippin::model_output {

struct CallParserOptions {
  std::shared_ptr<const CallSyntax> syntax;
  std::shared_ptr<const std::vector<Tool>> tools;  // tools offered
  std::function<std::string()> make_id;            // for calls without an id from the model
  bool is_parallel = true;                         // false: text after the first call is dropped
};

class CallParser {
 public:
  explicit CallParser(CallParserOptions options);

  void push(std::string_view text, AnswerParts& parts);
  // Ends the answer. If `was_cut` (by a limit, not by the model), incomplete calls stay incomplete;
  // otherwise they are broken.
  void finish(bool was_cut, AnswerParts& parts);
  // Returns whether all further text is ignored.
  bool is_over() const { return state_ == State::Over; }

 private:
  enum class State : uint8_t {
    Content,
    Arguments,
    Key,        // Arguments::Tagged: before a key or the call's end
    Value,      // after a key
    ObjectEnd,  // Shape::Object: after the arguments
    CallEnd,    // before the mark
    BehindCall,
    Over,
  };
  // Advances one step in text_. Returns false if it needs more text.
  bool step(AnswerParts& parts);
  bool content(AnswerParts& parts);
  bool json_arguments(AnswerParts& parts);
  bool literal_arguments(AnswerParts& parts);
  bool tagged_key(AnswerParts& parts);
  bool tagged_value(AnswerParts& parts);
  Found ends_call(std::string_view text, size_t& position) const;
  bool object_end();
  bool call_end(AnswerParts& parts);
  bool behind_call(AnswerParts& parts);

  void take(size_t size);  // from text_
  void give(size_t size, AnswerParts& parts);
  // The head is at text_[begin].
  void begin_call(const CallHead& head, size_t begin, AnswerParts& parts);
  void add_arguments(std::string_view json, AnswerParts& parts);
  void add_key(std::string_view key, AnswerParts& parts);
  bool broken(AnswerParts& parts);

  const CallParserOptions options_;
  const CallSyntax& syntax_;
  const CallHeadReader heads_;

  State state_ = State::Content;
  std::string text_;  // unread
  bool is_all_ = false;
  bool has_begun_ = false;     // content or a call
  bool is_line_begin_ = true;  // at the start of text_, within content
  size_t num_calls_ = 0;

  // State of the current call:
  const Tool* tool_ = nullptr;
  std::string raw_;  // original text
  JsonScanner scanner_;
  bool has_key_ = false;  // some argument was reported
  int open_objects_ = 0;
  CallSyntax::Arguments kind_ = CallSyntax::Arguments::Json;
  std::string key_;       // for Value
  bool is_text_ = false;  // the value is certainly a text
  bool is_json_ = false;  // the value is certainly JSON
  bool has_begun_value_ = false;
};

}  // namespace pippin::model_output
