// The tree behind Json, shared by json.cpp and json_writer.cpp only.
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
    std::vector<Member> members;  // in the order of the file
    std::vector<uint32_t> order;  // positions in `members` by key, for lookup
  };
  struct BigInteger {
    std::string digits;
  };
  // uint64_t only for integers above the range of int64_t, BigInteger for those of neither range.
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
