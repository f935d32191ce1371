// One way in which a schema can hold, while its keywords are gone through: facts that all hold.
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

  struct ItemRule {  // of the items from first up to last
    uint64_t first, last;
    Literal literal;
  };
  struct ItemNeed {  // so many of them are what the literal says
    uint64_t first, last;
    Literal literal;
    uint64_t least, most;
  };
  std::vector<ItemRule> item_rules;
  std::vector<ItemNeed> item_needs;
  uint64_t least_items = 0, most_items = kNoMost;
  std::string unique_items;  // where it is said that no two are alike; empty: nowhere

  struct KeyRule {  // every property of these keys
    RegexId keys;
    Literal literal;
  };
  struct KeyNeed {  // some property of these keys
    RegexId keys;
    std::vector<Literal> literals;
  };
  std::vector<KeyRule> key_rules;
  std::vector<KeyNeed> key_needs;
  RegexId keys = RegexPool::kNothing;  // that there may be
  uint64_t least_properties = 0, most_properties = kNoMost;
  std::vector<std::string> names;  // in the order in which they were come by

  // What the keywords looked at so far: what unevaluatedProperties and unevaluatedItems leave out.
  RegexId seen_keys = RegexPool::kNothing;
  uint64_t seen_items = 0;
  std::vector<Literal> seen_if;  // items of which one of these holds
};

using Branches = std::vector<Branch>;

}  // namespace pippin::constrain
