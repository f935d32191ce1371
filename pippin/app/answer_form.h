// What an answer has to be: a value of a JSON Schema, a text of a grammar or of a regular
// expression, one of a list, calls of tools.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pippin/answer/call_grammar.h"
#include "pippin/constrain/constraint.h"
#include "pippin/constrain/schema/schema.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

struct AnswerForm {
  enum class Kind : uint8_t { JsonSchema, JsonObject, Grammar, Regex, Choice, Text };
  Kind kind = Kind::JsonSchema;
  std::string text;                  // of a schema, a grammar (GBNF) or a regular expression
  std::vector<std::string> choices;  // one of these
  // Calls of tools: instead of all that if they are required, else instead or, of Kind::Text,
  // behind it.
  std::optional<answer::CallRules> calls;
  constrain::Whitespace whitespace = constrain::Whitespace::Compact;

  // Thoughts may come before the answer, between these marks: their text, or their tokens where
  // they are special ones.
  struct Mark {
    std::string text;
    std::vector<int32_t> ids;
  };
  struct Thoughts {
    Mark begin, end;
    bool is_open = false;  // the prompt has begun them
  };
  std::optional<Thoughts> thoughts;
};

struct JudgeOptions {
  // Else texts of others are judged: keys in any order, blanks, every spelling of numbers.
  bool as_generated = false;
  bool format_asserts = true;  // of schemas
};
// The form's grammar alone, without thoughts and tokens. Throws as FormCompiler::compile().
std::shared_ptr<constrain::Grammar> compile_grammar(const AnswerForm& form,
                                                    const JudgeOptions& options);

// Compiles forms for a tokenizer. Any thread.
class FormCompiler {
 public:
  explicit FormCompiler(Tokenizer tokenizer, const constrain::GrammarLimits& limits = {})
      : tokenizer_(std::move(tokenizer)), limits_(limits) {}

  // The same form again is the same constraint; the oldest ones are given up. Throws
  // InvalidArgument for what is broken or has no text, Unsupported, LimitExceeded: in the message
  // the place in the schema or grammar. Polls check_cancel().
  std::shared_ptr<constrain::Constraint> compile(const AnswerForm& form);
  // The constraint of a form that was compiled before and is still kept; else null.
  std::shared_ptr<constrain::Constraint> find(const AnswerForm& form);

  // The tokenizer's, made when it is first asked for.
  std::shared_ptr<const constrain::Vocabulary> vocabulary();

 private:
  std::shared_ptr<constrain::Constraint> make(const AnswerForm& form);

  std::shared_ptr<constrain::Constraint> find(const std::string& key);

  const Tokenizer tokenizer_;
  const constrain::GrammarLimits limits_;
  std::mutex vocabulary_mutex_;  // of vocabulary_, which takes a while to make
  std::shared_ptr<const constrain::Vocabulary> vocabulary_;
  std::mutex mutex_;  // of what follows
  struct Kept {
    std::string key;
    std::shared_ptr<constrain::Constraint> constraint;
  };
  std::list<Kept> kept_;  // the last used first
  std::unordered_map<std::string, std::list<Kept>::iterator> by_key_;
};

}  // namespace pippin::app
