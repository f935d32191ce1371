#include "pippin/model_output/call_grammar.h"

#include <optional>
#include <string>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/constrain/patterns/json_text.h"
#include "pippin/constrain/patterns/pattern.h"
#include "pippin/constrain/schema/schema.h"
#include "pippin/model_output/mark_grammar.h"
#include "pippin/model_output/marks.h"
#include "pippin/model_output/value_grammar.h"

namespace pippin::model_output {
namespace {

using constrain::Grammar;
using constrain::RegexId;
using constrain::RegexPool;
using constrain::Sequence;
using constrain::Symbol;
using constrain::Writing;
using Kind = CallPiece::Kind;

class CallGrammar {
 public:
  CallGrammar(Grammar& grammar, const CallRules& rules, const Tokenizer* tokenizer)
      : marks_(grammar, tokenizer), rules_(rules), syntax_(*rules.syntax) {}

  Symbol answer() { return is_channels() ? channels() : calls(); }

  Symbol text_and_calls() {
    const Symbol calls = answer();
    if (is_channels()) {
      Sequence final_message;
      marks_.add(final_message, "<|channel|>final<|message|>");
      final_message.push_back(text());
      Sequence thoughts = thinking();
      final_message.insert(final_message.begin(), thoughts.begin(), thoughts.end());
      return marks_.rule("answer", {{calls}, std::move(final_message)});
    }
    const std::string first = syntax_.section_begin + syntax_.call_begin;
    const std::string_view mark = mark_of(first);
    RegexPool& pool = marks_.regexes();
    if (mark.empty()) {
      // Only its beginning distinguishes a call from text.
      const RegexId bare =
          constrain::whole_pattern(pool, "(\\s*\\{[\\s\\S]*)", Writing::Utf8, "text");
      const RegexId any = constrain::any_text(pool, Writing::Utf8);
      return marks_.rule("answer", {{calls}, {Symbol::regex(pool.minus(any, bare))}});
    }
    const Symbol unmarked = Symbol::regex(marks_.text_without(mark));
    return marks_.rule("answer", {{unmarked}, {unmarked, calls}});
  }

 private:
  bool is_channels() const { return syntax_.shape == CallSyntax::Shape::Channels; }
  Symbol text() { return Symbol::regex(constrain::any_text(marks_.regexes(), Writing::Utf8)); }

  void append(Sequence& sequence, const Sequence& more) {
    sequence.insert(sequence.end(), more.begin(), more.end());
  }

  Symbol json_arguments(const Tool& tool) {
    const constrain::SchemaOptions options{.whitespace = constrain::Whitespace::Spaced};
    try {
      return constrain::add_schema(marks_.grammar(), tool.parameters, options);
    } catch (const Error& error) {
      if (tool.is_strict) {
        fail(error.code(), "tool {}: {}", tool.name, error.what());
      }
      return constrain::add_json_object(marks_.grammar(), options);
    }
  }

  Symbol arguments(const Tool& tool) {
    switch (syntax_.arguments) {
      case CallSyntax::Arguments::Tagged:
        return add_tagged_arguments(marks_, syntax_, tool);
      case CallSyntax::Arguments::Python:
      case CallSyntax::Arguments::Quoted:
        return add_literal_arguments(marks_, syntax_, tool);
      case CallSyntax::Arguments::Json:
        break;
    }
    return json_arguments(tool);
  }

  Symbol pattern(std::string_view source) {
    return Symbol::regex(constrain::whole_pattern(marks_.regexes(), source, Writing::Utf8, "call"));
  }

  // Adds a mark at the beginning of an answer, where the blanks before it are optional.
  void add_first(Sequence& sequence, std::string_view mark) {
    const size_t blanks = skip_blanks(mark, 0);
    if (blanks > 0) {
      RegexPool& pool = marks_.regexes();
      sequence.push_back(Symbol::regex(pool.optional(pool.literal(mark.substr(0, blanks)))));
    }
    marks_.add(sequence, mark.substr(blanks));
  }

  // The pieces of a call and its end.
  Symbol call() {
    std::vector<Sequence> each;
    for (const Tool& tool : *rules_.tools) {
      Sequence sequence;
      for (const CallPiece& piece : syntax_.pieces) {
        if (piece.kind == Kind::Text) marks_.add(sequence, piece.text);
        if (piece.kind == Kind::Name) marks_.add(sequence, tool.name);
        if (piece.kind == Kind::Id) sequence.push_back(pattern("[A-Za-z0-9]{9}"));
        if (piece.kind == Kind::Number) sequence.push_back(pattern("0|[1-9][0-9]{0,2}"));
        if (piece.kind == Kind::Arguments) sequence.push_back(arguments(tool));
      }
      marks_.add(sequence, syntax_.call_end);
      each.push_back(std::move(sequence));
    }
    return marks_.rule("call", std::move(each));
  }

  Symbol calls() {
    const Symbol one = call();
    Sequence end;
    // Blanks at the end are insignificant.
    marks_.add(end,
               syntax_.section_end.substr(0, syntax_.section_end.find_last_not_of(kBlanks) + 1));
    Symbol rest = marks_.rule("calls end", {end});
    if (rules_.is_parallel && !syntax_.has_one_call) {
      const constrain::RuleId more = marks_.grammar().add_rule("more calls");
      Sequence next;
      marks_.add(next, syntax_.separator + syntax_.call_begin);
      append(next, {one, Symbol::rule(more)});
      marks_.grammar().add_alternative(more, std::move(next));
      marks_.grammar().add_alternative(more, end);
      rest = Symbol::rule(more);
    }
    Sequence sequence;
    add_first(sequence, syntax_.section_begin + syntax_.call_begin);
    append(sequence, {one, rest});
    return marks_.rule("calls", {std::move(sequence)});
  }

  // A message with thoughts, or nothing.
  Sequence thinking() {
    Sequence thoughts;
    marks_.add(thoughts, "<|channel|>analysis<|message|>");
    thoughts.push_back(text());
    marks_.add(thoughts, "<|end|><|start|>assistant");
    return {marks_.rule("thoughts", {std::move(thoughts), {}})};
  }

  Symbol channels() {
    std::vector<Sequence> each;
    const Sequence thoughts = thinking();
    for (const Tool& tool : *rules_.tools) {
      Sequence sequence = thoughts;
      marks_.add(sequence, "<|channel|>commentary to=functions." + tool.name +
                               " <|constrain|>json<|message|>");
      sequence.push_back(json_arguments(tool));
      each.push_back(std::move(sequence));
    }
    return marks_.rule("calls", std::move(each));
  }

  MarkGrammar marks_;
  const CallRules& rules_;
  const CallSyntax& syntax_;
};

}  // namespace

Symbol add_calls(Grammar& grammar, const CallRules& rules, const Tokenizer* tokenizer) {
  return CallGrammar(grammar, rules, tokenizer).answer();
}

Symbol add_text_and_calls(Grammar& grammar, const CallRules& rules, const Tokenizer* tokenizer) {
  return CallGrammar(grammar, rules, tokenizer).text_and_calls();
}

}  // namespace pippin::model_output
