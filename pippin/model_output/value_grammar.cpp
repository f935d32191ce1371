#include "pippin/model_output/value_grammar.h"

#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/constrain/patterns/json_text.h"
#include "pippin/constrain/patterns/pattern.h"
#include "pippin/constrain/schema/schema.h"
#include "pippin/io/json.h"
#include "pippin/model_output/literal_values.h"

namespace pippin::model_output {
namespace {

using constrain::Grammar;
using constrain::RegexId;
using constrain::RegexPool;
using constrain::Sequence;
using constrain::Symbol;
using constrain::Writing;

struct Property {
  std::string name;
  Json schema;
  bool is_required;
  ValueKinds kinds;
};

std::vector<Property> properties_of(const Tool& tool) {
  std::set<std::string> required;
  if (const auto names = tool.parameters.find("required"); names && names->is_array()) {
    for (const Json& name : names->elements()) {
      if (name.is_string()) required.emplace(name.as_string());
    }
  }
  std::vector<Property> found;
  const auto properties = tool.parameters.find("properties");
  if (!properties || !properties->is_object()) return found;
  for (const auto& [name, schema] : properties->members()) {
    found.push_back(
        {std::string(name), schema, required.contains(std::string(name)), kinds_of(tool, name)});
  }
  return found;
}

std::string place_of(const Tool& tool, std::string_view property) {
  return "tool " + tool.name + ": #/properties/" + std::string(property);
}

// Returns a property's schema as a separate document, with the whole schema for its references.
Json standalone(const Tool& tool, const Json& schema) {
  if (!schema.is_object()) return schema;
  JsonWriter json;
  json.begin_object();
  for (const auto& [key, value] : schema.members()) json.member(key, value);
  for (const char* key : {"$defs", "definitions"}) {
    const auto definitions = tool.parameters.find(key);
    if (definitions && !schema.contains(key)) json.member(key, *definitions);
  }
  return Json::parse(json.end_object().text(), "schema");
}

// JSON of the schema; any JSON if the tool is not strict and the schema is not supported.
Symbol json_value(Grammar& grammar, const Tool& tool, const Property& property) {
  const constrain::SchemaOptions options{.whitespace = constrain::Whitespace::Spaced};
  try {
    return constrain::add_schema(grammar, standalone(tool, property.schema), options);
  } catch (const Error& error) {
    if (tool.is_strict) fail(error.code(), "{}: {}", place_of(tool, property.name), error.what());
    return constrain::add_json_value(grammar, options);
  }
}

std::optional<std::vector<std::string>> listed_texts(const Json& schema) {
  std::vector<std::string> texts;
  if (!schema.is_object()) return std::nullopt;
  if (const auto value = schema.find("const"); value && value->is_string()) {
    return std::vector<std::string>{std::string(value->as_string())};
  }
  const auto values = schema.find("enum");
  if (!values || !values->is_array()) return std::nullopt;
  for (const Json& value : values->elements()) {
    if (value.is_string()) texts.emplace_back(value.as_string());
  }
  return texts;
}

// The texts that a schema allows, unquoted.
RegexId text_of(RegexPool& pool, const Tool& tool, const Property& property) {
  const Json& schema = property.schema;
  if (const auto texts = listed_texts(schema)) {
    std::vector<RegexId> each;
    for (const std::string& text : *texts) each.push_back(pool.literal(text));
    return pool.any_of(each);
  }
  RegexId result = constrain::any_text(pool, Writing::Utf8);
  if (!schema.is_object()) return result;
  const std::string place = place_of(tool, property.name);
  if (const auto pattern = schema.find("pattern"); pattern && pattern->is_string()) {
    result = pool.all_of(result, constrain::search_pattern(pool, pattern->as_string(),
                                                           Writing::Utf8, place + "/pattern"));
  }
  const auto least = schema.find("minLength"), most = schema.find("maxLength");
  if (least || most) {
    constexpr int64_t kMost = 100'000;
    const auto bound = [&](const std::optional<Json>& given, uint32_t otherwise) {
      return given && given->is_integer(0, kMost) ? static_cast<uint32_t>(given->as_int())
                                                  : otherwise;
    };
    result = pool.all_of(result, pool.repeat(constrain::any_character(pool, Writing::Utf8),
                                             bound(least, 0), bound(most, RegexPool::kUnlimited)));
  }
  if (tool.is_strict && (schema.contains("format") || schema.contains("anyOf") ||
                         schema.contains("oneOf") || schema.contains("allOf"))) {
    fail(ErrorCode::Unsupported,
         "{}: the model writes texts of calls without quotes, where formats and alternatives "
         "cannot be held to",
         place);
  }
  return result;
}

// The same; any text if the tool is not strict and the schema is not supported.
RegexId allowed_text(RegexPool& pool, const Tool& tool, const Property& property) {
  try {
    return text_of(pool, tool, property);
  } catch (const Error&) {
    if (tool.is_strict) throw;
    return constrain::any_text(pool, Writing::Utf8);
  }
}

// --- (k=v, ...) and {k:v, ...} ---

class LiteralGrammar {
 public:
  LiteralGrammar(MarkGrammar& marks, const CallSyntax& syntax)
      : marks_(marks),
        syntax_(syntax),
        is_python_(syntax.arguments == CallSyntax::Arguments::Python) {}

  Symbol arguments(const Tool& tool) {
    const std::vector<Property> properties = properties_of(tool);
    const std::string open = is_python_ ? "(" : "{", close = is_python_ ? ")" : "}";
    // The rest after the arguments so far: without any, and with some.
    std::array<Symbol, 2> rest;
    rest.fill(marks_.rule("arguments end", {{literal(close)}}));
    for (size_t i = properties.size(); i-- > 0;) {
      const Property& property = properties[i];
      const Symbol typed = value(tool, property);
      std::array<Symbol, 2> next;
      for (const bool has_some : {false, true}) {
        const std::string comma = !has_some ? "" : is_python_ ? ", " : ",";
        const Symbol key = literal(comma + property.name + (is_python_ ? "=" : ":"));
        std::vector<Sequence> alternatives{{key, typed, rest[1]}};
        if (!property.is_required) alternatives.push_back({rest[has_some ? 1 : 0]});
        next[has_some ? 1 : 0] = marks_.rule("argument " + property.name, std::move(alternatives));
      }
      rest = next;
    }
    return marks_.rule("arguments", {{literal(open), rest[0]}});
  }

 private:
  Symbol literal(const std::string& text) { return Symbol::regex(marks_.regexes().literal(text)); }

  Symbol quoted(RegexId text) {
    Sequence sequence;
    marks_.add(sequence, syntax_.quote);
    const RegexId inside = marks_.regexes().all_of(text, marks_.text_without(syntax_.quote));
    sequence.push_back(Symbol::regex(inside));
    marks_.add(sequence, syntax_.quote);
    return marks_.rule("quoted", {std::move(sequence)});
  }

  // Python reads JSON's strings as JSON does, except for \/ and unpaired surrogates.
  Symbol string(const Tool& tool, const Property& property) {
    RegexPool& pool = marks_.regexes();
    if (!is_python_) return quoted(allowed_text(pool, tool, property));
    if (const auto texts = listed_texts(property.schema)) {
      std::vector<RegexId> each;
      for (const std::string& text : *texts) each.push_back(pool.literal(json_string(text)));
      return Symbol::regex(pool.any_of(each));
    }
    return json_value(marks_.grammar(), tool, property);
  }

  Symbol value(const Tool& tool, const Property& property) {
    RegexPool& pool = marks_.regexes();
    std::vector<Sequence> alternatives;
    const auto type = property.schema.is_object() ? property.schema.find("type") : std::nullopt;
    if (!type || !type->is_string()) {
      if (tool.is_strict) {
        fail(ErrorCode::Unsupported, "{}: its type has to be one for a model that writes calls so",
             place_of(tool, property.name));
      }
      return any_value();
    }
    const std::string_view name = type->as_string();
    if (name == "string") return string(tool, property);
    if (name == "integer" || name == "number") return json_value(marks_.grammar(), tool, property);
    if (name == "boolean" && !property.schema.contains("enum")) {
      return Symbol::regex(pool.any_of(pool.literal(is_python_ ? "True" : "true"),
                                       pool.literal(is_python_ ? "False" : "false")));
    }
    if (name == "null") return literal(is_python_ ? "None" : "null");
    if (tool.is_strict) {
      fail(ErrorCode::Unsupported, "{}: {}s cannot be held to in the way this model writes calls",
           place_of(tool, property.name), name);
    }
    return any_value();
  }

  // Any value.
  Symbol any_value() {
    if (any_) return *any_;
    Grammar& grammar = marks_.grammar();
    RegexPool& pool = marks_.regexes();
    const constrain::RuleId value = grammar.add_rule("value");
    any_ = Symbol::rule(value);
    const Symbol text =
        is_python_ ? Symbol::regex(constrain::quoted(pool, constrain::json_string_content(pool)))
                   : quoted(constrain::any_text(pool, Writing::Utf8));
    grammar.add_alternative(value, {text});
    grammar.add_alternative(
        value, {constrain::add_schema(grammar, Json::parse(R"({"type":"number"})", "schema"))});
    for (const char* word : {"True", "False", "None"}) {
      const std::string spelled = is_python_       ? word
                                  : word[0] == 'N' ? "null"
                                  : word[0] == 'T' ? "true"
                                                   : "false";
      grammar.add_alternative(value, {literal(spelled)});
    }
    const std::string comma = is_python_ ? ", " : ",";
    const Symbol key = is_python_ ? text
                                  : Symbol::regex(constrain::whole_pattern(pool, "[A-Za-z0-9_ .-]+",
                                                                           Writing::Utf8, "key"));
    const Symbol colon = literal(is_python_ ? ": " : ":");
    const auto list = [&](const std::string& open, const std::string& close, const Sequence& item) {
      const constrain::RuleId more = grammar.add_rule("items");
      Sequence next{literal(comma)}, first{literal(open)};
      next.insert(next.end(), item.begin(), item.end());
      next.push_back(Symbol::rule(more));
      grammar.add_alternative(more, next);
      grammar.add_alternative(more, {literal(close)});
      first.insert(first.end(), item.begin(), item.end());
      first.push_back(Symbol::rule(more));
      grammar.add_alternative(value, first);
      grammar.add_alternative(value, {literal(open + close)});
    };
    list("[", "]", {*any_});
    list("{", "}", {key, colon, *any_});
    return *any_;
  }

  MarkGrammar& marks_;
  const CallSyntax& syntax_;
  const bool is_python_;
  std::optional<Symbol> any_;
};

}  // namespace

Symbol add_tagged_arguments(MarkGrammar& marks, const CallSyntax& syntax, const Tool& tool) {
  RegexPool& pool = marks.regexes();
  const RegexId unmarked = marks.text_without(syntax.value_end);
  const auto argument = [&](const Symbol& key, bool is_other, const Symbol& value) {
    Sequence sequence;
    marks.add(sequence, syntax.key_begin);
    sequence.push_back(key);
    marks.add(sequence,
              is_other && !syntax.key_end_other.empty() ? syntax.key_end_other : syntax.key_end);
    sequence.push_back(value);
    marks.add(sequence, syntax.value_end);
    return sequence;
  };
  const std::vector<Property> properties = properties_of(tool);
  Sequence all;
  for (const Property& property : properties) {
    const Symbol key = Symbol::regex(pool.literal(property.name));
    std::vector<Sequence> alternatives;
    if (property.kinds.text) {
      const RegexId text = pool.all_of(allowed_text(pool, tool, property), unmarked);
      alternatives.push_back(argument(key, false, Symbol::regex(text)));
    }
    // Without a separate mark, a value that may be a text is read as text.
    if (!property.kinds.text || (property.kinds.other && !syntax.key_end_other.empty())) {
      alternatives.push_back(argument(key, true, json_value(marks.grammar(), tool, property)));
    }
    if (!property.is_required) alternatives.emplace_back();
    all.push_back(marks.rule("argument " + property.name, std::move(alternatives)));
  }
  if (!properties.empty() || tool.is_strict || tool.parameters.contains("properties")) {
    return marks.rule("arguments", {std::move(all)});
  }
  // Any arguments.
  const constrain::RuleId some = marks.grammar().add_rule("arguments");
  const Symbol key =
      Symbol::regex(constrain::whole_pattern(pool, "[A-Za-z0-9_-]+", Writing::Utf8, "key"));
  Sequence one = argument(key, false, Symbol::regex(unmarked));
  one.push_back(Symbol::rule(some));
  marks.grammar().add_alternative(some, std::move(one));
  marks.grammar().add_alternative(some, {});
  return Symbol::rule(some);
}

Symbol add_literal_arguments(MarkGrammar& marks, const CallSyntax& syntax, const Tool& tool) {
  return LiteralGrammar(marks, syntax).arguments(tool);
}

}  // namespace pippin::model_output
