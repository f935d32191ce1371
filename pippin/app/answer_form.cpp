#include "pippin/app/answer_form.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/constrain/gbnf/gbnf.h"
#include "pippin/constrain/patterns/json_text.h"
#include "pippin/constrain/patterns/pattern.h"
#include "pippin/io/json.h"

namespace pippin::app {

using constrain::Grammar;
using constrain::RegexId;
using constrain::RegexPool;
using constrain::RuleId;
using constrain::Symbol;
using constrain::Work;
using constrain::Writing;

namespace {

constexpr size_t kKept = 32;
constexpr const char* kCompiling = "the form";
// A constraint grows while it is used.
constexpr size_t kTooLarge = 400'000;

// The settings that determine a form's language.
std::string key_of(const AnswerForm& form) {
  JsonWriter json;
  json.begin_array().value(static_cast<int>(form.kind)).value(form.text).value(form.choices);
  json.value(static_cast<int>(form.whitespace));
  if (form.calls.has_value()) {
    json.value(form.calls->is_required).value(form.calls->is_parallel);
    json.raw(model_output::tools_json(*form.calls->tools));
    for (const model_output::Tool& tool : *form.calls->tools) json.value(tool.is_strict);
  }
  if (form.thoughts.has_value()) {
    for (const AnswerForm::Mark* mark : {&form.thoughts->begin, &form.thoughts->end})
      json.value(mark->text).value(mark->ids);
    json.value(form.thoughts->is_open);
  }
  return json.end_array().text();
}

// Without a tokenizer, text cannot be expressed as tokens.
Symbol add_answer(Grammar& grammar, const AnswerForm& form, const constrain::SchemaOptions& options,
                  const Tokenizer* tokenizer) {
  RegexPool& pool = grammar.regexes();
  switch (form.kind) {
    case AnswerForm::Kind::JsonSchema:
      return constrain::add_schema(grammar, Json::parse(form.text, "schema"), options);
    case AnswerForm::Kind::JsonObject:
      return constrain::add_json_object(grammar, options);
    case AnswerForm::Kind::Regex:
      return Symbol::regex(
          constrain::whole_pattern(pool, form.text, Writing::Utf8, "regular expression"));
    case AnswerForm::Kind::Grammar: {
      constrain::GbnfOptions gbnf;
      if (tokenizer != nullptr) {
        gbnf.token_of = [tokenizer](std::string_view text) { return tokenizer->token_to_id(text); };
      }
      return constrain::add_gbnf(grammar, form.text, gbnf);
    }
    case AnswerForm::Kind::Text:
      return Symbol::regex(constrain::any_text(pool, Writing::Utf8));
    case AnswerForm::Kind::Choice:
      break;
  }
  std::vector<RegexId> choices;
  for (const std::string& choice : form.choices) choices.push_back(pool.literal(choice));
  if (choices.empty()) fail(ErrorCode::InvalidArgument, "there is nothing to choose from");
  return Symbol::regex(pool.any_of(choices));
}

// Includes calls of tools.
Symbol add_form(Grammar& grammar, const AnswerForm& form, const Tokenizer& tokenizer) {
  const auto said = [&] {
    return add_answer(grammar, form, {.whitespace = form.whitespace}, &tokenizer);
  };
  if (!form.calls.has_value()) return said();
  if (form.calls->is_required) return model_output::add_calls(grammar, *form.calls, &tokenizer);
  if (form.kind == AnswerForm::Kind::Text)
    return model_output::add_text_and_calls(grammar, *form.calls, &tokenizer);
  const RuleId either = grammar.add_rule("answer");
  grammar.add_alternative(either, {said()});
  grammar.add_alternative(either, {model_output::add_calls(grammar, *form.calls, &tokenizer)});
  return Symbol::rule(either);
}

constrain::Sequence mark(Grammar& grammar, const AnswerForm::Mark& mark) {
  if (mark.ids.empty()) return {Symbol::regex(grammar.regexes().literal(mark.text))};
  constrain::Sequence sequence;
  for (const int32_t id : mark.ids) sequence.push_back(grammar.add_tokens({id}));
  return sequence;
}

// Any text up to the mark that ends thoughts, the mark, and line breaks.
void add_thoughts(Grammar& grammar, RuleId root, const AnswerForm::Thoughts& thoughts,
                  const Symbol& answer) {
  RegexPool& pool = grammar.regexes();
  const RegexId any = constrain::any_text(pool, Writing::Utf8);
  const RegexId marked = pool.concat(std::array{any, pool.literal(thoughts.end.text), any});
  constrain::Sequence behind{Symbol::regex(pool.minus(any, marked))};
  const auto append = [&](constrain::Sequence more) {
    behind.insert(behind.end(), more.begin(), more.end());
  };
  append(mark(grammar, thoughts.end));
  append({Symbol::regex(pool.repeat(pool.literal("\n"), 0, 2)), answer});
  if (!thoughts.is_open) {
    grammar.add_alternative(root, {answer});
    constrain::Sequence opened = mark(grammar, thoughts.begin);
    opened.insert(opened.end(), behind.begin(), behind.end());
    behind = std::move(opened);
  }
  grammar.add_alternative(root, std::move(behind));
}

}  // namespace

std::shared_ptr<Grammar> compile_grammar(const AnswerForm& form, const JudgeOptions& options) {
  constrain::SchemaOptions schema{.whitespace = form.whitespace};
  schema.format_asserts = options.format_asserts;
  if (!options.as_generated) {
    schema.order = constrain::PropertyOrder::Any;
    schema.whitespace = constrain::Whitespace::Flexible;
    schema.every_spelling = true;
  }
  auto grammar = std::make_shared<Grammar>();
  const Work::Limit limit(grammar->regexes().work(), grammar->limits().work.compile, kCompiling);
  const RuleId root = grammar->add_rule("root");
  grammar->add_alternative(root, {add_answer(*grammar, form, schema, nullptr)});
  grammar->set_root(root);
  grammar->finish();
  return grammar;
}

std::shared_ptr<const constrain::Vocabulary> FormCompiler::vocabulary() {
  const std::lock_guard lock(vocabulary_mutex_);
  if (vocabulary_ == nullptr) vocabulary_ = constrain::Vocabulary::of(tokenizer_);
  return vocabulary_;
}

std::shared_ptr<constrain::Constraint> FormCompiler::make(const AnswerForm& form) {
  auto grammar = std::make_shared<Grammar>(limits_);
  const Work::Limit limit(grammar->regexes().work(), limits_.work.compile, kCompiling);
  const RuleId root = grammar->add_rule("root");
  const Symbol answer = add_form(*grammar, form, tokenizer_);
  if (form.thoughts.has_value()) {
    add_thoughts(*grammar, root, *form.thoughts, answer);
  } else {
    grammar->add_alternative(root, {answer});
  }
  grammar->set_root(root);
  grammar->finish();
  // A copy of the pointer: the limit above refers to the grammar's memory.
  auto constraint = std::make_shared<constrain::Constraint>(grammar, vocabulary());
  constraint->mask(constraint->start());  // a large constraint is large from the start
  return constraint;
}

std::shared_ptr<constrain::Constraint> FormCompiler::find(const AnswerForm& form) {
  return find(key_of(form));
}

std::shared_ptr<constrain::Constraint> FormCompiler::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, it->second);
  if (it->second->constraint->num_states() < kTooLarge) return it->second->constraint;
  kept_.erase(it->second);
  by_key_.erase(it);
  return nullptr;
}

std::shared_ptr<constrain::Constraint> FormCompiler::compile(const AnswerForm& form) {
  std::string key = key_of(form);
  if (auto known = find(key)) return known;
  std::shared_ptr<constrain::Constraint> constraint = make(form);
  const std::lock_guard lock(mutex_);
  if (const auto it = by_key_.find(key); it != by_key_.end())
    return it->second->constraint;  // another thread was faster
  kept_.push_front({key, constraint});
  by_key_.emplace(std::move(key), kept_.begin());
  if (kept_.size() > kKept) {
    by_key_.erase(kept_.back().key);
    kept_.pop_back();
  }
  return constraint;
}

}  // namespace pippin::app
