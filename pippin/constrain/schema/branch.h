// One way to satisfy a schema, built keyword by keyword: facts that all hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/constrain/schema/form.h"

namespace pippin::constrain {

enum TypeBit : uint8_t {
  NullBit = 1,
  FalseBit = 2,
  TrueBit = 4,
  NumberBit = 8,
  StringBit = 16,
  ArrayBit = 32,
  ObjectBit = 64
};
constexpr uint8_t kAllTypes = 127;

struct Branch {
  uint8_t types = kAllTypes;
  RegexId number = RegexPool::kNothing, string = RegexPool::kNothing;

  struct ItemRule {  // for the items in [first, last)
    uint64_t first, last;
    Literal literal;
  };
  struct ItemNeed {  // between least and most of these items satisfy the literal
    uint64_t first, last;
    Literal literal;
    uint64_t least, most;
  };
  std::vector<ItemRule> item_rules;
  std::vector<ItemNeed> item_needs;
  uint64_t least_items = 0, most_items = kNoMost;
  std::string unique_items;  // the place that requires unique items; empty: none

  struct KeyRule {  // for every property with one of these keys
    RegexId keys;
    Literal literal;
  };
  struct KeyNeed {  // for some property with one of these keys
    RegexId keys;
    std::vector<Literal> literals;
  };
  std::vector<KeyRule> key_rules;
  std::vector<KeyNeed> key_needs;
  RegexId keys = RegexPool::kNothing;  // allowed keys
  uint64_t least_properties = 0, most_properties = kNoMost;
  std::vector<std::string> names;  // in order of appearance

  // Evaluated so far; unevaluatedProperties and unevaluatedItems apply to the others.
  RegexId seen_keys = RegexPool::kNothing;
  uint64_t seen_items = 0;
  std::vector<Literal> seen_if;  // items that satisfy one of these
};

using Branches = std::vector<Branch>;

}  // namespace pippin::constrain
