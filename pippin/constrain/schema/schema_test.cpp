#include "pippin/constrain/schema/schema.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/numbers/ranges.h"
#include "pippin/base/testing.h"
#include "pippin/constrain/matcher.h"
#include "pippin/constrain/schema/uri.h"

namespace pippin::constrain {
namespace {

std::shared_ptr<Grammar> compiled(std::string_view schema, const SchemaOptions& options = {}) {
  auto grammar = std::make_shared<Grammar>();
  const RuleId root = grammar->add_rule("root");
  grammar->add_alternative(root, {add_schema(*grammar, Json::parse(schema, "schema"), options)});
  grammar->set_root(root);
  grammar->finish();
  return grammar;
}

bool accepts(std::string_view schema, std::string_view text, const SchemaOptions& options = {}) {
  return Matcher(compiled(schema, options)).matches(text);
}

// Returns the text that must come after `begin`.
std::string forced(std::string_view schema, std::string_view begin) {
  Matcher matcher(compiled(schema));
  StateId state = matcher.step(matcher.start(), begin);
  std::string text;
  while (const auto byte = matcher.only_byte(state)) {
    text += static_cast<char>(*byte);
    state = matcher.step(state, *byte);
  }
  return text;
}

constexpr std::string_view kPerson =
    R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0},"tags":{"type":"array","items":{"enum":["a","b"]}}},)"
    R"("required":["name","age"],"additionalProperties":false})";

TEST(Schema, PropertiesComeInTheSchemasOrder) {
  EXPECT_TRUE(accepts(kPerson, R"({"name":"Ann","age":3})"));
  EXPECT_TRUE(accepts(kPerson, R"({"name":"Ann","age":3,"tags":["a","b","a"]})"));
  EXPECT_FALSE(accepts(kPerson, R"({"age":3,"name":"Ann"})"));
  EXPECT_TRUE(accepts(kPerson, R"({"age":3,"name":"Ann"})", {.order = PropertyOrder::Any}));
  EXPECT_FALSE(
      accepts(kPerson, R"({"age":3,"age":3,"name":"Ann"})", {.order = PropertyOrder::Any}));
  for (const std::string_view wrong :
       {R"({"name":"Ann"})", R"({"name":"Ann","age":-1})", R"({"name":"Ann","age":3,"x":1})",
        R"({"name":"Ann","age":3,"tags":["c"]})", R"({"name":"Ann","age":3.5})", R"([])",
        R"({"name":"Ann","age":3,})"}) {
    EXPECT_FALSE(accepts(kPerson, wrong)) << wrong;
  }
}

TEST(Schema, WhatHasToComeIsFound) {
  EXPECT_EQ(forced(kPerson, ""), R"({"name":")");
  EXPECT_EQ(forced(kPerson, R"({"name":"Ann")"), R"(,"age":)");
  EXPECT_EQ(forced(kPerson, R"({"name":"Ann","age":3,"t)"), R"(ags":[)");
}

TEST(Schema, WhiteSpaceIsBounded) {
  constexpr std::string_view kPair =
      R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}},"required":["a"]})";
  EXPECT_FALSE(accepts(kPair, R"({"a": [1]})"));
  EXPECT_TRUE(accepts(kPair, R"({"a": [1, 2], "b": null})", {.whitespace = Whitespace::Spaced}));
  EXPECT_FALSE(accepts(kPair, R"({ "a": [1, 2]})", {.whitespace = Whitespace::Spaced}));
  EXPECT_TRUE(accepts(kPair, "{\n  \"a\" : [ 1 ,\n 2 ]\n}", {.whitespace = Whitespace::Flexible}));
  EXPECT_FALSE(accepts(kPair, "{\n\n\"a\":[]}", {.whitespace = Whitespace::Flexible}));
}

TEST(Schema, NumbersAreWrittenAsProgramsWriteThem) {
  EXPECT_TRUE(accepts(R"({"type":"integer"})", "-20"));
  for (const std::string_view other : {"20.0", "2e1", "-0", "123456789012345678901"}) {
    EXPECT_FALSE(accepts(R"({"type":"integer"})", other)) << other;
    EXPECT_TRUE(accepts(R"({"type":"integer"})", other, {.every_spelling = true})) << other;
  }
  EXPECT_TRUE(accepts(R"({"type":"number"})", "0.25"));
  EXPECT_FALSE(accepts(R"({"type":"number"})", "0.250"));
  EXPECT_TRUE(
      accepts(R"({"const":123456789012345678901234567890})", "123456789012345678901234567890"));
}

TEST(Schema, KeysCannotBeDisguised) {
  constexpr std::string_view kNot = R"({"type":"object","properties":{"a":{"type":"integer"}}})";
  EXPECT_TRUE(accepts(kNot, R"({"b":"x"})"));
  EXPECT_FALSE(accepts(kNot, R"({"a":"x"})"));
  EXPECT_FALSE(accepts(kNot, R"({"\u0061":"x"})"));
}

TEST(Schema, NothingLeadsIntoADeadEnd) {
  // An optional property that allows no value, and a required one next to a limit on the count.
  EXPECT_EQ(
      forced(
          R"({"type":"object","properties":{"a":false,"b":{"const":1}},"required":["b"],"maxProperties":1})",
          ""),
      R"({"b":1})");
  // A list that could only go on forever.
  EXPECT_ERROR(
      compiled(
          R"({"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"},"minItems":1}},"$ref":"#/$defs/n"})"),
      ErrorCode::InvalidArgument, "#: the schema has no value");
  EXPECT_TRUE(accepts(R"({"type":"array","items":{"$ref":"#"},"maxItems":2})", "[[],[[]]]"));
  EXPECT_ERROR(compiled("false"), ErrorCode::InvalidArgument, "#: the schema has no value");
  EXPECT_ERROR(compiled(R"({"type":"string","minLength":3,"maxLength":2})"),
               ErrorCode::InvalidArgument, "the schema has no value");
  // No key can match both patterns.
  EXPECT_EQ(
      forced(
          R"({"type":"object","patternProperties":{"^a":{"type":"integer"},"":{"type":"string"}},"minProperties":1,"propertyNames":{"pattern":"^[ab]$"}})",
          ""),
      "{\"b\":\"");
}

TEST(Schema, UniqueItemsOfListedValues) {
  constexpr std::string_view kColours =
      R"({"type":"array","items":{"enum":["r","g","b"]},"uniqueItems":true,"minItems":2})";
  EXPECT_TRUE(accepts(kColours, R"(["r","b","g"])"));
  EXPECT_FALSE(accepts(kColours, R"(["r","r"])"));
  EXPECT_EQ(forced(kColours, R"(["r","g","b")"), "]");
  EXPECT_ERROR(compiled(R"({"type":"array","items":{"type":"integer"},"uniqueItems":true})"),
               ErrorCode::Unsupported,
               "#/uniqueItems: unique items are supported where \"enum\" or \"const\" lists them");
}

TEST(Schema, RefusesWithThePlaceAndTheKeyword) {
  const auto compile = [](std::string_view schema) { compiled(schema); };
  EXPECT_ERROR(compile(R"x({"properties":{"a/b":{"pattern":"(?<=x)"}}})x"), ErrorCode::Unsupported,
               "#/properties/a~1b/pattern: in the pattern");
  EXPECT_ERROR(compile(R"({"pattern":"["})"), ErrorCode::InvalidArgument,
               "#/pattern: the pattern is broken");
  EXPECT_ERROR(compile(R"({"type":"strin"})"), ErrorCode::InvalidArgument,
               "#/type: \"strin\" is not a type");
  EXPECT_ERROR(compile(R"({"items":{"minLength":-1}})"), ErrorCode::InvalidArgument,
               "#/items/minLength: expected an integer that is not negative");
  EXPECT_ERROR(compile(R"({"$ref":"https://example.com/x"})"), ErrorCode::Unsupported,
               "#/$ref: \"https://example.com/x\" is not in this schema");
  EXPECT_ERROR(compile(R"({"$ref":"#/$defs/x"})"), ErrorCode::InvalidArgument,
               "#/$ref: there is nothing at \"#/$defs/x\"");
  EXPECT_ERROR(compile(R"({"$schema":"http://json-schema.org/draft-99/schema#"})"),
               ErrorCode::Unsupported, "is not a draft of JSON Schema that is known");
  EXPECT_ERROR(compile(R"({"$ref":"#"})"), ErrorCode::InvalidArgument,
               "#: the schema refers to itself without an end");
  EXPECT_ERROR(compile(R"({"properties":{"a":3}})"), ErrorCode::InvalidArgument,
               "#/properties/a: a schema is an object, true or false");
  EXPECT_ERROR(compile(R"([])"), ErrorCode::InvalidArgument,
               "#: a schema is an object, true or false");
  EXPECT_ERROR(compile(R"({"format":"idn-hostname"})"), ErrorCode::Unsupported,
               "#/format: the format \"idn-hostname\" is not supported");
}

TEST(Schema, WhatExplodesEndsWithAnError) {
  // Each level can be read in two ways.
  std::string nested = R"({"type":"integer"})";
  for (int i = 0; i < 40; ++i)
    nested =
        R"({"anyOf":[)" + nested + R"(,{"not":)" + nested.substr(0, 0) + R"({"type":"string"}}]})";
  compiled(nested);
  std::string wide = R"({"allOf":[)";
  for (int i = 0; i < 16; ++i) {
    const std::string name = "\"p" + std::to_string(i) + "\"";
    wide += std::string(i == 0 ? "" : ",") + R"({"anyOf":[{"required":[)" + name +
            R"(]},{"properties":{)" + name + R"(:{"type":"integer"}}}]})";
  }
  EXPECT_ERROR(compiled(wide + "]}"), ErrorCode::LimitExceeded,
               "the schema has more than 4000 alternatives at one place");
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += R"({"items":)";
  EXPECT_THROW(compiled(deep + "true" + std::string(10'000, '}')), Error);
}

// Collected grammars and schemas, and the project's own, with texts that they accept and reject.
TEST(Schema, CollectedSchemasAcceptAndRefuseAsTheyShould) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(files, "serving/grammars");
  int schemas = 0, texts = 0;
  for (const auto& file : files) {
    if (file.extension() != ".jsonl") continue;
    const std::string name = file.filename();
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      const Json one = Json::parse(line, name);
      if (one.get_string("kind") != "json_schema") continue;
      ++schemas;
      std::vector<std::string> doubtful;
      bool is_failing_doubtful = false;
      if (one.has("doubtful")) {
        for (const Json& doubt : one.at("doubtful").elements()) {
          if (doubt.has("string")) {
            doubtful.push_back(doubt.get_string("string"));
          } else {
            is_failing_doubtful = true;
          }
        }
      }
      const auto is_doubtful = [&](const std::string& text) {
        return ranges::contains(doubtful, text);
      };
      std::shared_ptr<Grammar> grammar;
      std::string error;
      try {
        grammar = compiled(one.get_string("text"), {.order = PropertyOrder::Any,
                                                    .whitespace = Whitespace::Flexible,
                                                    .every_spelling = true});
      } catch (const Error& thrown) {
        error = thrown.what();
      }
      EXPECT_TRUE(grammar == nullptr || !one.get_bool("must_fail") || is_failing_doubtful)
          << one.get_string("name");
      if (grammar == nullptr) {
        printf("refused: %s: %s\n", one.get_string("name").c_str(), error.c_str());
        continue;
      }
      Matcher matcher(grammar);
      for (const bool wanted : {true, false}) {
        const auto list = one.find(wanted ? "accept" : "refuse");
        if (!list.has_value()) continue;
        for (const Json& text : list->elements()) {
          if (!text.is_string() || is_doubtful(std::string(text.as_string()))) continue;
          ++texts;
          EXPECT_EQ(matcher.matches(text.as_string()), wanted)
              << one.get_string("name") << ": " << text.as_string() << "\n  "
              << one.get_string("text");
        }
      }
    }
  }
  EXPECT_GT(schemas, 20);
  EXPECT_TRUE(texts > 100 || files.size() == 1);  // the project's own have none
}

// References may form chains and cycles of any length; counts make chains of states.
TEST(Schema, ChainsTakeNoStack) {
  const auto chain = [](const std::string& root, const std::string& before,
                        const std::string& after, int length) {
    std::string schema = "{" + root + ",\"$defs\":{";
    for (int i = 0; i < length; ++i) {
      schema += fmt::format(R"("a{}":{}{{"$ref":"#/$defs/a{}"}}{},)", i, before, i + 1, after);
    }
    return schema + fmt::format(R"("a{}":{{"enum":[1,2]}}}}}})", length);
  };
  const std::string reference = R"("$ref":"#/$defs/a0")";
  constexpr int kLong = 20'000;
  for (const std::string& schema :
       {chain(reference, R"({"allOf":[)", "]}", kLong), chain(reference, R"({"not":)", "}", kLong),
        chain(reference, R"({"anyOf":[{"type":"null"},)", "]}", kLong),
        chain(R"("propertyNames":{)" + reference + "}",
              R"({"anyOf":[{"type":"string"},{"propertyNames":)", "}]}", kLong)}) {
    EXPECT_ERROR(compiled(schema), ErrorCode::LimitExceeded,
                 "subschemas refer to each other more than 300 deep");
  }
  EXPECT_TRUE(accepts(chain(reference, R"({"allOf":[)", "]}", 100), "2"));
  const std::string unique = R"("type":"array","uniqueItems":true,"minItems":2,"items":{)";
  EXPECT_TRUE(accepts(chain(unique + reference + "}", "", "", 100), "[1,2]"));
  EXPECT_ERROR(
      compiled("{" + unique + R"("$ref":"#/$defs/a"},"$defs":{"a":{"$ref":"#/$defs/a"}}})"),
      ErrorCode::Unsupported, "unique items are supported where");
  EXPECT_TRUE(compiled(R"({"type":"array","contains":{"const":1},"minContains":90000})") !=
              nullptr);
  EXPECT_TRUE(compiled(R"({"type":"array","contains":{"const":1},"minContains":20000,)"
                       R"("prefixItems":[{"const":2},{"const":2}]})") != nullptr);
  EXPECT_ERROR(compiled(R"({"type":"array","contains":{"const":1},"minContains":200000})"),
               ErrorCode::LimitExceeded, "the schema's counts take more than 100000 states");
}

TEST(Uri, ReferencesAreResolvedAsTheStandardSays) {
  const std::string base = "http://a/b/c/d;p?q";
  const auto absolute = [&](std::string_view reference) {
    return resolve_uri(base, reference).absolute;
  };
  // RFC 3986, section 5.4.
  EXPECT_EQ(absolute("g:h"), "g:h");
  EXPECT_EQ(absolute("g"), "http://a/b/c/g");
  EXPECT_EQ(absolute("./g/"), "http://a/b/c/g/");
  EXPECT_EQ(absolute("/g"), "http://a/g");
  EXPECT_EQ(absolute("//g"), "http://g");
  EXPECT_EQ(absolute("?y"), "http://a/b/c/d;p?y");
  EXPECT_EQ(absolute(""), "http://a/b/c/d;p?q");
  EXPECT_EQ(absolute("../g"), "http://a/b/g");
  EXPECT_EQ(absolute("../../../g"), "http://a/g");
  EXPECT_EQ(absolute("g/../h"), "http://a/b/c/h");
  EXPECT_EQ(resolve_uri(base, "#a%25b").fragment, "a%b");
  EXPECT_EQ(resolve_uri("urn:uuid:1", "#/x").absolute, "urn:uuid:1");
  EXPECT_EQ(resolve_uri("", "a.json").absolute, "a.json");
}

}  // namespace
}  // namespace pippin::constrain
