// Reads GGUF (versions 2 and 3, little-endian): metadata by key, tensors as views of the bytes.
//
// A file has a magic number, counts, key-value pairs, tensor descriptions, and aligned data. Every
// count and length is checked against the rest of the file before memory is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/base/bytes.h"

namespace pippin {

enum class GgufValueType : uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  Text,
  Array,
  U64,
  I64,
  F64,
};
// Returns the bytes of a number; 0 for texts and arrays.
size_t byte_size(GgufValueType type);

struct GgufValue {
  GgufValueType type;  // for an array, of its elements
  bool is_array = false;
  ByteSpan data;  // contiguous, unaligned numbers, or texts, each after its length
  uint64_t count = 1;

  // Returns views of the file; empty if the value holds numbers.
  std::vector<std::string_view> texts() const;
};

// A tensor in blocks, each of which stores a number of elements in a number of bytes.
struct GgufTensor {
  std::string name;
  uint32_t type;               // ggml's number
  std::vector<int64_t> shape;  // slowest axis first
  ByteSpan data;
};
struct GgufBlock {
  std::string_view name;  // "Q4_0"
  int64_t elements, bytes;
};
// Throws Unsupported for an unknown type number.
GgufBlock gguf_block(uint32_t type, const std::string& where);

struct GgufContent {
  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<GgufTensor> tensors;
};

// `name` starts error messages. Throws InvalidFile, Unsupported, LimitExceeded.
GgufContent parse_gguf(ByteSpan file, const std::string& name);

}  // namespace pippin
