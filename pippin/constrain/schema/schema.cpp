#include "pippin/constrain/schema/schema.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/constrain/patterns/json_text.h"
#include "pippin/constrain/patterns/numbers.h"
#include "pippin/constrain/schema/algebra.h"
#include "pippin/constrain/schema/document.h"
#include "pippin/constrain/schema/states.h"

namespace pippin::constrain {

namespace {

// Writes the rules of a schema's values; the rules of values within arrays and objects are made
// when they are reached. The rules share ownership of the writer.
class SchemaWriter : public std::enable_shared_from_this<SchemaWriter> {
 public:
  SchemaWriter(Grammar& grammar, const Json& schema, const SchemaOptions& options)
      : grammar_(grammar),
        options_(options),
        document_(schema),
        algebra_(grammar.regexes(), document_, options_) {
    RegexPool& pool = grammar_.regexes();
    RegexId blank = RegexPool::kEmpty;
    if (options_.whitespace == Whitespace::Flexible) {
      blank = pool.concat(pool.optional(pool.literal("\n")), pool.repeat(pool.literal(" "), 0, 20));
    }
    const RegexId gap = options_.whitespace == Whitespace::Spaced ? pool.literal(" ") : blank;
    const auto around = [&](std::string_view before, RegexId after) {
      return pool.concat(pool.literal(before), after);
    };
    open_array_ = around("[", blank);
    open_object_ = around("{", blank);
    comma_ = pool.concat(blank, around(",", gap));
    colon_ = pool.concat(blank, around(":", gap));
    close_array_ = pool.concat(blank, pool.literal("]"));
    close_object_ = pool.concat(blank, pool.literal("}"));
  }

  Symbol root() {
    const ValueId root = algebra_.value({Literal::Kind::Schema, false, document_.root()});
    algebra_.close(root);
    if (!algebra_.is_possible(root)) fail(ErrorCode::InvalidArgument, "#: the schema has no value");
    return symbol(root);
  }

 private:
  struct ArrayRules {
    ArrayStates states;
    std::map<ArrayStates::State, RuleId> rules;
  };
  struct ObjectRules {
    ObjectStates states;
    std::map<ObjectStates::State, RuleId> rules;
  };

  Symbol symbol(ValueId value) {
    if (const auto it = symbols_.find(value); it != symbols_.end()) return it->second;
    const Form& form = algebra_.form(value);
    const RegexId scalar = scalars(form);
    if (form.arrays.empty() && form.objects.empty())
      return symbols_.emplace(value, Symbol::regex(scalar)).first->second;
    const RuleId rule = grammar_.add_rule("value");
    if (scalar != RegexPool::kNothing) grammar_.add_alternative(rule, {Symbol::regex(scalar)});
    for (const ArrayForm& array : form.arrays) {
      auto rules = std::make_shared<ArrayRules>(ArrayRules{ArrayStates(algebra_, array), {}});
      if (!rules->states.is_possible()) continue;
      const ArrayStates::State start = rules->states.start();
      grammar_.add_alternative(rule, {Symbol::rule(array_rule(rules, start, true))});
    }
    for (const ObjectForm& object : form.objects) {
      auto rules = std::make_shared<ObjectRules>(
          ObjectRules{ObjectStates(algebra_, object, options_.order), {}});
      if (!rules->states.is_possible()) continue;
      const ObjectStates::State start = rules->states.start();
      grammar_.add_alternative(rule, {Symbol::rule(object_rule(rules, start))});
    }
    // Stored last: if the code above throws, the next call makes it again.
    symbols_.emplace(value, Symbol::rule(rule));
    return Symbol::rule(rule);
  }

  // Limits numbers to the spellings that the options allow.
  RegexId written(RegexId number) {
    RegexPool& pool = grammar_.regexes();
    if (pool.is_nothing(number)) return RegexPool::kNothing;
    if (options_.every_spelling) return number;
    if (number == json_number(pool, Spelling::Plain)) return written_number(pool);
    if (number == json_integer(pool, Spelling::Plain)) return written_integer(pool);
    const RegexId plain = pool.all_of(number, plainly_written(pool));
    return pool.is_nothing(plain) ? number : plain;
  }

  RegexId scalars(const Form& form) {
    RegexPool& pool = grammar_.regexes();
    std::vector<RegexId> alternatives{written(form.number)};
    if (form.has_null) alternatives.push_back(pool.literal("null"));
    if (form.has_true) alternatives.push_back(pool.literal("true"));
    if (form.has_false) alternatives.push_back(pool.literal("false"));
    if (!pool.is_nothing(form.string)) alternatives.push_back(quoted(pool, form.string));
    return pool.any_of(alternatives);
  }

  // The opening or separating text and the value after it, as one expression if possible.
  Sequence with_value(RegexId before, ValueId value) {
    const Symbol next = symbol(value);
    if (next.kind == Symbol::Kind::Regex)
      return {Symbol::regex(grammar_.regexes().concat(before, next.id))};
    return {Symbol::regex(before), next};
  }

  RuleId array_rule(const std::shared_ptr<ArrayRules>& rules, const ArrayStates::State& state,
                    bool is_first) {
    if (!is_first) {
      if (const auto it = rules->rules.find(state); it != rules->rules.end()) return it->second;
    }
    const RuleId rule =
        grammar_.add_lazy_rule("array", false, [self = shared_from_this(), rules, state, is_first] {
          Grammar::Alternatives made;
          RegexPool& pool = self->grammar_.regexes();
          if (rules->states.can_end(state)) {
            made.push_back(
                {Symbol::regex(is_first ? pool.concat(pool.literal("["), self->close_array_)
                                        : self->close_array_)});
          }
          for (const ArrayStates::Option& option : rules->states.options(state)) {
            made.push_back(
                self->with_value(is_first ? self->open_array_ : self->comma_, option.value));
            made.back().push_back(Symbol::rule(self->array_rule(rules, option.next, false)));
          }
          return made;
        });
    if (!is_first) rules->rules.emplace(state, rule);
    return rule;
  }

  RuleId object_rule(const std::shared_ptr<ObjectRules>& rules, const ObjectStates::State& state) {
    if (const auto it = rules->rules.find(state); it != rules->rules.end()) return it->second;
    const RuleId rule =
        grammar_.add_lazy_rule("object", false, [self = shared_from_this(), rules, state] {
          Grammar::Alternatives made;
          RegexPool& pool = self->grammar_.regexes();
          const bool is_first = state.count == 0;
          if (rules->states.can_end(state)) {
            made.push_back(
                {Symbol::regex(is_first ? pool.concat(pool.literal("{"), self->close_object_)
                                        : self->close_object_)});
          }
          for (const ObjectStates::Option& option : rules->states.options(state)) {
            const RegexId before =
                pool.concat(std::array{is_first ? self->open_object_ : self->comma_,
                                       quoted(pool, option.key), self->colon_});
            made.push_back(self->with_value(before, option.value));
            made.back().push_back(Symbol::rule(self->object_rule(rules, option.next)));
          }
          return made;
        });
    rules->rules.emplace(state, rule);
    return rule;
  }

  Grammar& grammar_;
  const SchemaOptions options_;
  SchemaDocument document_;
  Algebra algebra_;
  std::map<ValueId, Symbol> symbols_;
  RegexId open_array_, open_object_, comma_, colon_, close_array_, close_object_;
};

}  // namespace

Symbol add_schema(Grammar& grammar, const Json& schema, const SchemaOptions& options) {
  return std::make_shared<SchemaWriter>(grammar, schema, options)->root();
}

Symbol add_json_value(Grammar& grammar, const SchemaOptions& options) {
  return add_schema(grammar, Json::parse("true", "schema"), options);
}

Symbol add_json_object(Grammar& grammar, const SchemaOptions& options) {
  return add_schema(grammar, Json::parse(R"({"type": "object"})", "schema"), options);
}

}  // namespace pippin::constrain
