// What a JSON value may be, in a normal form: a union of alternatives by type. Whatever keywords
// say becomes this, so that intersections and complements of schemas are such forms again (compare
// Habib, Shinnar, Hirzel and Pradel, "Finding Data Compatibility Bugs with JSON Subschema Checks",
// 2021).
//
// Values within arrays and objects are named, not spelled out: by the set of statements that hold
// of them (ValueId). There are finitely many, so that recursive schemas end.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "pippin/constrain/regex_pool.h"

namespace pippin::constrain {

// That a value is or is not one of: a subschema; a constant; or that one of several literals holds.
struct Literal {
  enum class Kind : uint8_t { Schema, Constant, Either };
  Kind kind = Kind::Schema;
  bool negated = false;
  uint32_t id = 0;
  Literal operator!() const { return {kind, !negated, id}; }
  // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
  friend std::strong_ordering operator<=>(const Literal&, const Literal&) = default;
};

using ValueId = uint32_t;  // a set of literals that hold together

constexpr uint64_t kNoMost = std::numeric_limits<uint64_t>::max();

// Of the items from `first` on up to `last`: each is `value`.
struct ItemCount {
  uint64_t first = 0, last = kNoMost;  // behind the last one
  ValueId value = 0;                   // how many items of the range are that ...
  ValueId other = 0;                   // (and what is not)
  uint64_t least = 0, most = kNoMost;  // ... at least and at most
  // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
  friend std::strong_ordering operator<=>(const ItemCount&, const ItemCount&) = default;
};

struct ArrayForm {
  std::vector<ValueId> prefix;
  ValueId rest = 0;
  uint64_t least = 0, most = kNoMost;
  std::vector<ItemCount> counts;
  std::string unique;  // where it is said that no two items are alike; empty: nowhere
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
  // Keys that have no name above, in classes that exclude each other.
  struct Others {
    RegexId keys = 0;  // as JSON strings have them, without quotes
    ValueId value = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const Others&, const Others&) = default;
  };
  // One property of these keys has this value.
  struct Need {
    RegexId keys = 0;
    ValueId value = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const Need&, const Need&) = default;
  };
  std::vector<Property> properties;  // in the schema's order
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
