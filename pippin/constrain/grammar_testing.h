// Grammars for tests.
#pragma once

#include <array>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "pippin/constrain/grammar.h"

namespace pippin::constrain {

inline Sequence text(Grammar& grammar, std::string_view literal) {
  return {Symbol::regex(grammar.regexes().literal(literal))};
}

// Random rules over a and b.
inline std::shared_ptr<Grammar> random_grammar(std::mt19937& random) {
  const auto below = [&](size_t n) { return random() % n; };
  auto grammar = std::make_shared<Grammar>();
  RegexPool& pool = grammar->regexes();
  const size_t num_rules = 1 + below(5);
  for (size_t r = 0; r < num_rules; ++r) grammar->add_rule("r" + std::to_string(r));
  const RegexId a = pool.bytes({'a', 'a'}), b = pool.bytes({'b', 'b'});
  const std::array<RegexId, 7> terminals{a,
                                         b,
                                         pool.literal("ab"),
                                         pool.repeat(a, 0),
                                         pool.repeat(pool.any_of(a, b), 1, 2),
                                         RegexPool::kEmpty,
                                         pool.bytes({'a', 'b'})};
  for (RuleId r = 0; r < num_rules; ++r) {
    for (size_t n = below(4); n-- > 0;) {
      Sequence sequence;
      for (size_t s = below(4); s-- > 0;) {
        if (below(2) == 0) {
          sequence.push_back(Symbol::regex(terminals[below(terminals.size())]));
        } else {
          sequence.push_back(Symbol::rule(static_cast<RuleId>(below(num_rules))));
        }
      }
      grammar->add_alternative(r, sequence);
    }
  }
  grammar->set_root(0);
  return grammar;
}

// Any JSON value, without whitespace.
inline std::shared_ptr<Grammar> json_grammar() {
  auto grammar = std::make_shared<Grammar>();
  RegexPool& pool = grammar->regexes();
  const auto lit = [&](std::string_view s) { return Symbol::regex(pool.literal(s)); };
  const RegexId digit = pool.bytes({'0', '9'}),
                hex = pool.bytes(ByteSet('0', '9') | ByteSet('a', 'f') | ByteSet('A', 'F'));
  ByteSet plain = ByteSet(0x20, 0x7F) & ~(ByteSet('"', '"') | ByteSet('\\', '\\'));
  const RegexId tail = pool.bytes({0x80, 0xBF});
  ByteSet escapes;
  for (const char c : std::string_view("\"\\/bfnrt")) escapes.add(static_cast<uint8_t>(c));
  const RegexId character = pool.any_of(std::array{
      pool.bytes(plain), pool.concat(pool.bytes({0xC2, 0xDF}), tail),
      pool.concat(std::array{pool.bytes({0xE0, 0xE0}), pool.bytes({0xA0, 0xBF}), tail}),
      pool.concat(std::array{pool.bytes(ByteSet(0xE1, 0xEC) | ByteSet(0xEE, 0xEF)), tail, tail}),
      pool.concat(std::array{pool.bytes({0xED, 0xED}), pool.bytes({0x80, 0x9F}), tail}),
      pool.concat(std::array{pool.bytes({0xF0, 0xF0}), pool.bytes({0x90, 0xBF}), tail, tail}),
      pool.concat(std::array{pool.bytes({0xF1, 0xF3}), tail, tail, tail}),
      pool.concat(std::array{pool.bytes({0xF4, 0xF4}), pool.bytes({0x80, 0x8F}), tail, tail}),
      pool.concat(pool.literal("\\"),
                  pool.any_of(pool.bytes(escapes),
                              pool.concat(pool.literal("u"), pool.repeat(hex, 4, 4))))});
  const RegexId string =
      pool.concat(std::array{pool.literal("\""), pool.repeat(character, 0), pool.literal("\"")});
  const RegexId integer =
      pool.any_of(pool.literal("0"), pool.concat(pool.bytes({'1', '9'}), pool.repeat(digit, 0)));
  const RegexId number =
      pool.concat(std::array{pool.optional(pool.literal("-")), integer,
                             pool.optional(pool.concat(pool.literal("."), pool.repeat(digit, 1)))});
  const RuleId value = grammar->add_rule("value"), items = grammar->add_rule("items"),
               members = grammar->add_rule("members");
  for (const RegexId scalar : {string, number, pool.literal("true"), pool.literal("false"),
                               pool.literal("null"), pool.literal("[]"), pool.literal("{}")}) {
    grammar->add_alternative(value, {Symbol::regex(scalar)});
  }
  grammar->add_alternative(value, {lit("["), Symbol::rule(items), lit("]")});
  grammar->add_alternative(value, {lit("{"), Symbol::rule(members), lit("}")});
  grammar->add_alternative(items, {Symbol::rule(value)});
  grammar->add_alternative(items, {Symbol::rule(value), lit(","), Symbol::rule(items)});
  const Symbol key = Symbol::regex(pool.concat(string, pool.literal(":")));
  grammar->add_alternative(members, {key, Symbol::rule(value)});
  grammar->add_alternative(members, {key, Symbol::rule(value), lit(","), Symbol::rule(members)});
  grammar->set_root(value);
  return grammar;
}

}  // namespace pippin::constrain
