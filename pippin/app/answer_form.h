// The required form of an answer: a value of a JSON Schema, a text of a grammar or of a regular
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

#include "pippin/constrain/constraint.h"
#include "pippin/constrain/schema/schema.h"
#include "pippin/model_output/call_grammar.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

struct AnswerForm {
  enum class Kind : uint8_t { JsonSchema, JsonObject, Grammar, Regex, Choice, Text };
  Kind kind = Kind::JsonSchema;
  std::string text;                  // of a schema, a grammar (GBNF) or a regular expression
  std::vector<std::string> choices;  // one of these
  // Calls of tools. If required, they replace the rest; otherwise they are an alternative or, for
  // Kind::Text, may follow it.
  std::optional<model_output::CallRules> calls;
  constrain::Whitespace whitespace = constrain::Whitespace::Compact;

  // Thoughts may precede the answer, between these marks: given as text, or as tokens if they are
  // special ones.
  struct Mark {
    std::string text;
    std::vector<int32_t> ids;
  };
  struct Thoughts {
    Mark begin, end;
    bool is_open = false;  // the prompt has opened them
  };
  std::optional<Thoughts> thoughts;
};

struct JudgeOptions {
  // If false, the form checks text written by others: keys in any order, whitespace, every spelling
  // of numbers.
  bool as_generated = false;
  bool format_asserts = true;  // for schemas
};
// Compiles the form's grammar alone, without thoughts and tokens. Throws as
// FormCompiler::compile().
std::shared_ptr<constrain::Grammar> compile_grammar(const AnswerForm& form,
                                                    const JudgeOptions& options);

// Compiles forms for a tokenizer. Thread-safe.
class FormCompiler {
 public:
  explicit FormCompiler(Tokenizer tokenizer, const constrain::GrammarLimits& limits = {})
      : tokenizer_(std::move(tokenizer)), limits_(limits) {}

  // Equal forms share a constraint; the oldest ones are evicted. Throws InvalidArgument for a form
  // that is invalid or that no text matches, Unsupported, LimitExceeded; the message has the
  // position in the schema or grammar. Polls check_cancel().
  std::shared_ptr<constrain::Constraint> compile(const AnswerForm& form);
  // The cached constraint of a form, or null.
  std::shared_ptr<constrain::Constraint> find(const AnswerForm& form);

  // The tokenizer's vocabulary, created on first use.
  std::shared_ptr<const constrain::Vocabulary> vocabulary();

 private:
  std::shared_ptr<constrain::Constraint> make(const AnswerForm& form);

  std::shared_ptr<constrain::Constraint> find(const std::string& key);

  const Tokenizer tokenizer_;
  const constrain::GrammarLimits limits_;
  std::mutex vocabulary_mutex_;  // for vocabulary_, which takes a while to make
  std::shared_ptr<const constrain::Vocabulary> vocabulary_;
  std::mutex mutex_;  // for the members below
  struct Kept {
    std::string key;
    std::shared_ptr<constrain::Constraint> constraint;
  };
  std::list<Kept> kept_;  // most recently used first
  std::unordered_map<std::string, std::list<Kept>::iterator> by_key_;
};

}  // namespace pippin::app
