// The normal form of the values that a schema allows: a union of alternatives by type. All keywords
// are translated to it, so that intersections and complements of schemas have this form, too
// (compare Habib, Shinnar, Hirzel and Pradel, "Finding Data Compatibility Bugs with JSON Subschema
// Checks", 2021).
//
// Values within arrays and objects are named rather than expanded: by the set of literals that hold
// for them (ValueId). There are finitely many such sets, so the translation of recursive schemas
// ends.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "pippin/constrain/regex_pool.h"

namespace pippin::constrain {

// States that a value satisfies, or does not satisfy: a subschema; a constant; one of several
// literals.
struct Literal {
  enum class Kind : uint8_t { Schema, Constant, Either };
  Kind kind = Kind::Schema;
  bool negated = false;
  uint32_t id = 0;
  Literal operator!() const { return {kind, !negated, id}; }
  // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
  friend std::strong_ordering operator<=>(const Literal&, const Literal&) = default;
};

using ValueId = uint32_t;  // a set of literals that all hold

constexpr uint64_t kNoMost = std::numeric_limits<uint64_t>::max();

// A limit on the number of items in [first, last) that are `value`.
struct ItemCount {
  uint64_t first = 0, last = kNoMost;  // last is exclusive
  ValueId value = 0;                   // the items to count ...
  ValueId other = 0;                   // (the complement of value)
  uint64_t least = 0, most = kNoMost;  // ... at least and at most
  // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
  friend std::strong_ordering operator<=>(const ItemCount&, const ItemCount&) = default;
};

struct ArrayForm {
  std::vector<ValueId> prefix;
  ValueId rest = 0;
  uint64_t least = 0, most = kNoMost;
  std::vector<ItemCount> counts;
  std::string unique;  // the place that requires unique items; empty: none
  // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
  friend std::strong_ordering operator<=>(const ArrayForm&, const ArrayForm&) = default;
};

struct ObjectForm {
  struct Property {
    std::string name;
    ValueId value = 0;
    bool required = false;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const Property&, const Property&) = default;
  };
  // Keys that have no name above, in disjoint classes.
  struct Others {
    RegexId keys = 0;  // content of JSON strings, without quotes
    ValueId value = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const Others&, const Others&) = default;
  };
  // At least one property with one of these keys has this value.
  struct Need {
    RegexId keys = 0;
    ValueId value = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const Need&, const Need&) = default;
  };
  std::vector<Property> properties;  // in schema order
  std::vector<Others> others;
  std::vector<Need> needs;
  uint64_t least = 0, most = kNoMost;
  // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
  friend std::strong_ordering operator<=>(const ObjectForm&, const ObjectForm&) = default;
};

struct Form {
  bool has_null = false, has_false = false, has_true = false;
  RegexId number = RegexPool::kNothing;
  RegexId string = RegexPool::kNothing;  // between the quotes
  std::vector<ArrayForm> arrays;
  std::vector<ObjectForm> objects;
};

}  // namespace pippin::constrain
