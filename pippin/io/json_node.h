// The tree behind Json; only json.cpp and json_writer.cpp use it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "pippin/io/json.h"

namespace pippin {

struct JsonNode {
  struct Member;
  using Array = std::vector<JsonNode>;
  struct Object {
    std::vector<Member> members;  // in file order
    std::vector<uint32_t> order;  // indices into `members` sorted by key, for lookup
  };
  struct BigInteger {
    std::string digits;
  };
  // uint64_t only above the range of int64_t, BigInteger only outside both ranges.
  std::variant<std::monostate, bool, int64_t, uint64_t, BigInteger, double, std::string, Array,
               Object>
      value;
};

struct JsonNode::Member {
  std::string key;
  JsonNode value;
};

struct JsonDocument {
  std::string name;
  JsonNode root;
};

}  // namespace pippin
