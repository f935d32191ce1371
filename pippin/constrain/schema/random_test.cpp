// Random schemas and values: compares the grammar with a validator that checks the keywords one by
// one, as the specification does.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/constrain/matcher.h"
#include "pippin/constrain/schema/schema.h"
#include "pippin/io/json.h"

namespace pippin::constrain {
namespace {

bool is_equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.as_float() == b.as_float();
  if (a.type() != b.type()) return false;
  if (a.is_array()) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!is_equal(a.at(i), b.at(i))) return false;
    }
    return true;
  }
  if (a.is_object()) {
    if (a.size() != b.size()) return false;
    for (const auto& [key, value] : a.members()) {
      if (!b.contains(key) || !is_equal(value, b.at(key))) return false;
    }
    return true;
  }
  return a.dump() == b.dump();
}

// Reference implementation.
class Validator {
 public:
  explicit Validator(Json root) : root_(std::move(root)) {}
  struct Result {
    bool valid = true;
    std::set<std::string> keys;  // already evaluated
    std::set<size_t> items;
  };

  Result check(const Json& schema, const Json& value) {
    Result result;
    if (schema.is_bool()) {
      result.valid = schema.as_bool();
      return result;
    }
    const auto merge = [&](const Result& inner) {
      result.keys.insert(inner.keys.begin(), inner.keys.end());
      result.items.insert(inner.items.begin(), inner.items.end());
    };
    const auto must = [&](bool holds) { result.valid = result.valid && holds; };
    const auto in_place = [&](const Json& inner) {
      const Result one = check(inner, value);
      if (one.valid) merge(one);
      return one.valid;
    };
    const auto has = [&](const char* keyword) { return schema.contains(keyword); };
    if (has("$ref")) must(in_place(root_.at("$defs").at(schema.get_string("$ref").substr(8))));
    if (has("type")) must(is_type(schema.at("type"), value));
    if (has("const")) must(is_equal(schema.at("const"), value));
    if (has("enum")) {
      const auto all = schema.at("enum").elements();
      must(std::any_of(all.begin(), all.end(),
                       [&](const Json& one) { return is_equal(one, value); }));
    }
    if (value.is_number()) check_number(schema, value.as_float(), result);
    if (value.is_string()) {
      const size_t length = value.as_string().size();
      if (has("minLength")) must(length >= static_cast<size_t>(schema.get_int("minLength")));
      if (has("maxLength")) must(length <= static_cast<size_t>(schema.get_int("maxLength")));
      if (has("pattern")) must(is_found(schema.get_string("pattern"), value.as_string()));
    }
    if (value.is_array()) check_array(schema, value, result);
    if (value.is_object()) check_object(schema, value, result);
    if (has("allOf")) {
      for (const Json& inner : schema.at("allOf").elements()) must(in_place(inner));
    }
    for (const char* keyword : {"anyOf", "oneOf"}) {
      if (!has(keyword)) continue;
      int holding = 0;
      for (const Json& inner : schema.at(keyword).elements()) holding += in_place(inner) ? 1 : 0;
      must(keyword[0] == 'a' ? holding > 0 : holding == 1);
    }
    if (has("not")) must(!check(schema.at("not"), value).valid);
    if (has("if")) {
      const bool holds = in_place(schema.at("if"));
      const char* then = holds ? "then" : "else";
      if (has(then)) must(in_place(schema.at(then)));
    }
    if (value.is_object() && has("dependentSchemas")) {
      for (const auto& [key, inner] : schema.at("dependentSchemas").members()) {
        if (value.contains(key)) must(in_place(inner));
      }
    }
    if (value.is_object() && has("unevaluatedProperties")) {
      for (const auto& [key, one] : value.members()) {
        if (result.keys.contains(std::string(key))) continue;
        must(check(schema.at("unevaluatedProperties"), one).valid);
        result.keys.emplace(key);
      }
    }
    if (value.is_array() && has("unevaluatedItems")) {
      for (size_t i = 0; i < value.size(); ++i) {
        if (!result.items.contains(i))
          must(check(schema.at("unevaluatedItems"), value.at(i)).valid);
        result.items.insert(i);
      }
    }
    return result;
  }

 private:
  // The test uses only the patterns "^x" and "y$".
  static bool is_found(const std::string& pattern, std::string_view text) {
    if (pattern.front() == '^') return text.starts_with(pattern.substr(1));
    return text.ends_with(pattern.substr(0, pattern.size() - 1));
  }
  static bool is_type(const Json& type, const Json& value) {
    if (type.is_array()) {
      const auto all = type.elements();
      return std::any_of(all.begin(), all.end(),
                         [&](const Json& one) { return is_type(one, value); });
    }
    const std::string_view name = type.as_string();
    if (name == "null") return value.is_null();
    if (name == "boolean") return value.is_bool();
    if (name == "integer")
      return value.is_number() && std::floor(value.as_float()) == value.as_float();
    if (name == "number") return value.is_number();
    if (name == "string") return value.is_string();
    if (name == "array") return value.is_array();
    return value.is_object();
  }
  static void check_number(const Json& schema, double value, Result& result) {
    const auto must = [&](bool holds) { result.valid = result.valid && holds; };
    if (schema.contains("minimum")) must(value >= schema.get_float("minimum"));
    if (schema.contains("exclusiveMaximum")) must(value < schema.get_float("exclusiveMaximum"));
    if (schema.contains("multipleOf")) must(std::fmod(value, schema.get_float("multipleOf")) == 0);
  }
  void check_array(const Json& schema, const Json& value, Result& result) {
    const auto must = [&](bool holds) { result.valid = result.valid && holds; };
    const auto size = static_cast<int64_t>(value.size());
    if (schema.contains("minItems")) must(size >= schema.get_int("minItems"));
    if (schema.contains("maxItems")) must(size <= schema.get_int("maxItems"));
    size_t prefix = 0;
    if (schema.contains("prefixItems")) {
      prefix = schema.at("prefixItems").size();
      for (size_t i = 0; i < std::min(prefix, value.size()); ++i) {
        must(check(schema.at("prefixItems").at(i), value.at(i)).valid);
        result.items.insert(i);
      }
    }
    if (schema.contains("items")) {
      for (size_t i = prefix; i < value.size(); ++i) {
        must(check(schema.at("items"), value.at(i)).valid);
        result.items.insert(i);
      }
    }
    if (!schema.contains("contains")) return;
    int64_t found = 0;
    for (size_t i = 0; i < value.size(); ++i) {
      if (!check(schema.at("contains"), value.at(i)).valid) continue;
      ++found;
      result.items.insert(i);
    }
    must(found >= schema.get_int_or("minContains", 1));
    if (schema.contains("maxContains")) must(found <= schema.get_int("maxContains"));
  }
  void check_object(const Json& schema, const Json& value, Result& result) {
    const auto must = [&](bool holds) { result.valid = result.valid && holds; };
    const auto size = static_cast<int64_t>(value.size());
    if (schema.contains("minProperties")) must(size >= schema.get_int("minProperties"));
    if (schema.contains("maxProperties")) must(size <= schema.get_int("maxProperties"));
    if (schema.contains("required")) {
      for (const std::string& key : schema.get_strings("required")) must(value.contains(key));
    }
    if (schema.contains("dependentRequired")) {
      for (const auto& [key, needed] : schema.at("dependentRequired").members()) {
        if (!value.contains(key)) continue;
        for (const std::string& other : needed.as_strings()) must(value.contains(other));
      }
    }
    for (const auto& [key, one] : value.members()) {
      if (schema.contains("propertyNames")) {
        must(check(schema.at("propertyNames"), Json::parse(JsonWriter().value(key).text(), "key"))
                 .valid);
      }
      bool is_declared = false;
      if (schema.contains("properties") && schema.at("properties").contains(key)) {
        is_declared = true;
        must(check(schema.at("properties").at(key), one).valid);
      }
      if (schema.contains("patternProperties")) {
        for (const auto& [pattern, inner] : schema.at("patternProperties").members()) {
          if (!is_found(std::string(pattern), key)) continue;
          is_declared = true;
          must(check(inner, one).valid);
        }
      }
      if (!is_declared && schema.contains("additionalProperties")) {
        is_declared = true;
        must(check(schema.at("additionalProperties"), one).valid);
      }
      if (is_declared) result.keys.emplace(key);
    }
  }

  Json root_;
};

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string pick(const std::vector<std::string>& from) {
    return from[below(static_cast<uint32_t>(from.size()))];
  }

  std::string value(int depth) {
    switch (below(depth == 0 ? 4 : 7)) {
      case 0:
        return pick({"null", "true", "false"});
      case 1:
        return pick({"0", "1", "2", "3", "-1", "1.5", "4"});
      case 2:
      case 3:
        return pick({R"("")", R"("a")", R"("b")", R"("ab")", R"("ba")"});
      case 4:
      case 5: {
        std::string text;
        std::set<std::string> keys;
        for (uint32_t n = below(4); n-- > 0;) {
          const std::string key = pick({"a", "b", "ab", "ba", "c"});
          if (!keys.insert(key).second) continue;
          text += (text.empty() ? "\"" : ",\"") + key + "\":" + value(depth - 1);
        }
        return "{" + text + "}";
      }
      default: {
        std::string text;
        for (uint32_t n = below(4); n-- > 0;) text += (text.empty() ? "" : ",") + value(depth - 1);
        return "[" + text + "]";
      }
    }
  }

  std::string schema(int depth) {
    if (depth == 0 || below(12) == 0)
      return pick({"true", "false", R"({"type":"integer"})", R"({"const":1})",
                   R"({"type":"string"})", R"({"$ref":"#/$defs/x"})"});
    std::string text;
    std::set<std::string> used;
    for (uint32_t n = 1 + below(3); n-- > 0;) {
      const auto [keyword, content] = keyword_of(depth);
      if (!used.insert(keyword).second) continue;
      text += (text.empty() ? "\"" : ",\"") + keyword + "\":" + content;
      if (keyword == "if") {
        if (below(3) != 0) text += ",\"then\":" + schema(depth - 1);
        if (below(2) == 0) text += ",\"else\":" + schema(depth - 1);
      }
      if (keyword == "contains") {
        if (below(3) == 0) text += ",\"minContains\":" + pick({"0", "1", "2"});
        if (below(3) == 0) text += ",\"maxContains\":" + pick({"1", "2"});
      }
    }
    return "{" + text + "}";
  }

 private:
  std::string list(int depth) { return "[" + schema(depth - 1) + "," + schema(depth - 1) + "]"; }
  std::string map(int depth, const std::vector<std::string>& keys) {
    std::string text;
    for (const std::string& key : keys) {
      if (below(2) == 0) text += (text.empty() ? "\"" : ",\"") + key + "\":" + schema(depth - 1);
    }
    return "{" + text + "}";
  }
  std::pair<std::string, std::string> keyword_of(int depth) {
    switch (below(27)) {
      case 0:
        return {"type", pick({R"("object")", R"("array")", R"(["string","integer"])",
                              R"(["object","null"])", R"("number")"})};
      case 1:
        return {"const", value(1)};
      case 2:
        return {"enum", "[" + value(1) + "," + value(1) + "]"};
      case 3:
        return {"properties", map(depth, {"a", "b", "ab"})};
      case 4:
        return {"patternProperties", map(depth, {"^a", "b$"})};
      case 5:
        return {"additionalProperties", schema(depth - 1)};
      case 6:
        return {"required", pick({R"(["a"])", R"(["a","b"])", R"(["c"])"})};
      case 7:
        return {"propertyNames", pick({R"({"pattern":"^a"})", R"({"maxLength":1})",
                                       R"({"enum":["a","b"]})", "true"})};
      case 8:
        return {"minProperties", pick({"1", "2"})};
      case 9:
        return {"maxProperties", pick({"0", "1", "2"})};
      case 10:
        return {"items", schema(depth - 1)};
      case 11:
        return {"prefixItems", list(depth)};
      case 12:
        return {"contains", schema(depth - 1)};
      case 13:
        return {"minItems", pick({"1", "2"})};
      case 14:
        return {"maxItems", pick({"1", "2"})};
      case 15:
        return {"anyOf", list(depth)};
      case 16:
        return {"oneOf", list(depth)};
      case 17:
        return {"allOf", list(depth)};
      case 18:
        return {"not", schema(depth - 1)};
      case 19:
        return {"if", schema(depth - 1)};
      case 20:
        return {"dependentRequired", pick({R"({"a":["b"]})", R"({"c":["a","b"]})"})};
      case 21:
        return {"dependentSchemas", map(depth, {"a", "c"})};
      case 22:
        return {"unevaluatedProperties", schema(depth - 1)};
      case 23:
        return {"unevaluatedItems", schema(depth - 1)};
      case 24:
        return {pick({"minLength", "maxLength"}), pick({"0", "1", "2"})};
      case 25:
        return {pick({"minimum", "exclusiveMaximum"}), pick({"0", "1.5", "2"})};
      default:
        return {pick({"multipleOf"}), pick({"1", "2", "0.5"})};
    }
  }
  std::mt19937 random_;
};

// Returns a random text of the grammar, or nothing if it gets too long. There must be no dead ends.
std::optional<std::string> draw(Matcher& matcher, Random& random) {
  std::string text;
  StateId state = matcher.start();
  for (int i = 0; i < 300; ++i) {
    std::vector<uint8_t> allowed, closing;
    for (unsigned byte = 0x20; byte < 0x7F; ++byte) {
      if (matcher.step(state, static_cast<uint8_t>(byte)) == Matcher::kDead) continue;
      allowed.push_back(static_cast<uint8_t>(byte));
      if (std::string_view("\"}]").find(static_cast<char>(byte)) != std::string_view::npos)
        closing.push_back(static_cast<uint8_t>(byte));
    }
    if (matcher.can_end(state) && (allowed.empty() || random.below(3) == 0)) return text;
    if (allowed.empty()) ADD_FAILURE() << "a dead end behind " << text;
    if (allowed.empty()) return std::nullopt;
    const auto& from = !closing.empty() && random.below(2) == 0 ? closing : allowed;
    text += static_cast<char>(from[random.below(static_cast<uint32_t>(from.size()))]);
    state = matcher.step(state, static_cast<uint8_t>(text.back()));
  }
  return std::nullopt;
}

TEST(RandomSchemas, WhatIsDrawnFromAGrammarIsValid) {
  int drawn = 0;
  for (uint32_t seed = 0; seed < 250; ++seed) {
    Random random(seed + 100'000);
    std::string text = random.schema(3);
    if (text == "true" || text == "false") continue;
    text.insert(text.size() - 1, R"(,"$defs":{"x":{"type":"integer"}})");
    const Json schema = Json::parse(text, "schema");
    auto grammar = std::make_shared<Grammar>();
    try {
      const RuleId root = grammar->add_rule("root");
      grammar->add_alternative(root, {add_schema(*grammar, schema, {.max_steps = 50'000})});
      grammar->set_root(root);
      grammar->finish();
    } catch (const Error&) {
      continue;
    }
    Matcher matcher(grammar);
    for (int i = 0; i < 3; ++i) {
      const std::optional<std::string> value = draw(matcher, random);
      if (!value.has_value()) continue;
      ++drawn;
      // Validators count repeated keys once.
      const Json parsed = Json::parse(*value, "value");
      if (parsed.dump().size() != value->size()) continue;
      ASSERT_TRUE(Validator(schema).check(schema, parsed).valid)
          << "seed " << seed << ": " << *value << "\n"
          << text;
    }
  }
  EXPECT_GT(drawn, 200);
}

TEST(RandomSchemas, GrammarsSayWhatAValidatorSays) {
  int compiled = 0, empty = 0, refused = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    // The definition refers to itself below a property.
    const std::string inner = random.schema(2);
    std::string text = random.schema(3);
    if (text == "true" || text == "false") continue;
    text.insert(
        text.size() - 1,
        R"(,"$defs":{"x":{"type":["object","integer"],"properties":{"a":{"$ref":"#/$defs/x"},"b":)" +
            inner + "}}}");
    const Json schema = Json::parse(text, "schema");
    std::optional<Matcher> matcher;
    try {
      auto grammar = std::make_shared<Grammar>();
      const RuleId root = grammar->add_rule("root");
      grammar->add_alternative(
          root,
          {add_schema(*grammar, schema,
                      {.order = PropertyOrder::Any, .every_spelling = true, .max_steps = 50'000})});
      grammar->set_root(root);
      grammar->finish();
      matcher.emplace(grammar);
      ++compiled;
    } catch (const Error& error) {
      if (std::string(error.what()) != "#: the schema has no value") {
        ASSERT_EQ(error.code(), ErrorCode::LimitExceeded) << error.what() << "\n" << text;
        ++refused;
        continue;
      }
      ++empty;
    }
    for (int i = 0; i < 40; ++i) {
      const std::string instance = random.value(2);
      const bool wanted = Validator(schema).check(schema, Json::parse(instance, "value")).valid;
      const bool accepted = matcher.has_value() && matcher->matches(instance);
      ASSERT_EQ(accepted, wanted) << "seed " << seed << ": " << instance << "\n" << text;
    }
  }
  EXPECT_GT(compiled, 500);
  EXPECT_GT(empty, 10);
  EXPECT_LT(refused, 100);
}

}  // namespace
}  // namespace pippin::constrain
