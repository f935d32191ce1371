// The element types of safetensors files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pippin {

enum class Dtype {
  Bool,
  F4,
  F6E2M3,
  F6E3M2,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  F8E8M0,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  F64,
  I64,
  U64,
};

// Returns the bits of one element in a file; a Bool takes a byte.
int64_t bits(Dtype dtype);

// Returns the safetensors name: "F16", "BF16", "F8_E4M3", ...
std::string_view to_string(Dtype dtype);
std::optional<Dtype> parse_dtype(std::string_view name);

}  // namespace pippin
