// Splits an answer into content and calls of tools, while it comes.
//
// Tolerant: blanks may differ from the syntax, outer marks may be missing, JSON may be a little
// wrong. What begins like a call but is none, and calls of tools that were not offered, stay
// content. A call is told as soon as its tool is known, and its arguments as they come; what was
// told is not taken back, but for a call that breaks off in its arguments (AnswerPart::CallBroken).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/answer/answer_part.h"
#include "pippin/answer/call_head.h"
#include "pippin/answer/call_syntax.h"
#include "pippin/answer/json_scanner.h"
#include "pippin/answer/tool.h"

namespace pippin::answer {

struct CallParserOptions {
  std::shared_ptr<const CallSyntax> syntax;
  std::shared_ptr<const std::vector<Tool>> tools;  // that were offered
  std::function<std::string()> make_id;            // for calls to which the model gave none
  bool is_parallel = true;  // else everything behind the first call is dropped
};

class CallParser {
 public:
  explicit CallParser(CallParserOptions options);

  void push(std::string_view text, AnswerParts& parts);
  // The end of the answer. `was_cut`: by a limit, not by the model; calls that are not complete are
  // left so then, else they are broken.
  void finish(bool was_cut, AnswerParts& parts);
  // Whether nothing that comes counts any more.
  bool is_over() const { return state_ == State::Over; }

 private:
  enum class State : uint8_t {
    Content,
    Arguments,
    Key,        // Arguments::Tagged: a key comes, or the end of the call
    Value,      // and its value
    ObjectEnd,  // of Shape::Object, behind the arguments
    CallEnd,    // the mark
    BehindCall,
    Over,
  };
  // One step on in text_. False where it needs more.
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

  void take(size_t size);  // of text_
  void give(size_t size, AnswerParts& parts);
  // Whose head stands at text_[begin].
  void begin_call(const CallHead& head, size_t begin, AnswerParts& parts);
  void add_arguments(std::string_view json, AnswerParts& parts);
  void add_key(std::string_view key, AnswerParts& parts);
  bool broken(AnswerParts& parts);

  const CallParserOptions options_;
  const CallSyntax& syntax_;
  const CallHeadReader heads_;

  State state_ = State::Content;
  std::string text_;  // not read yet
  bool is_all_ = false;
  bool has_begun_ = false;     // the content, or a call
  bool is_line_begin_ = true;  // of text_, in content
  size_t num_calls_ = 0;

  // Of the call that is being read:
  const Tool* tool_ = nullptr;
  std::string raw_;  // as it was written
  JsonScanner scanner_;
  bool has_key_ = false;  // arguments were given
  int open_objects_ = 0;
  CallSyntax::Arguments kind_ = CallSyntax::Arguments::Json;
  std::string key_;       // of Value
  bool is_text_ = false;  // the value, for sure
  bool is_json_ = false;  // the value, for sure
  bool has_begun_value_ = false;
};

}  // namespace pippin::answer
