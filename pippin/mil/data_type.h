// The element types of MIL (MIL.proto, DataType); the enum's values are the format's numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pippin::mil {

enum class DataType : uint8_t {
  Bool = 1,
  String = 2,
  Float16 = 10,
  Float32 = 11,
  Float64 = 12,
  BFloat16 = 13,
  Int8 = 21,
  Int16 = 22,
  Int32 = 23,
  Int64 = 24,
  Int4 = 25,
  UInt8 = 31,
  UInt16 = 32,
  UInt32 = 33,
  UInt64 = 34,
  UInt4 = 35,
  UInt2 = 36,
  UInt1 = 37,
  UInt6 = 38,
  UInt3 = 39,
  Float8E4M3FN = 40,
  Float8E5M2 = 41,
};

// Bits of one stored element (a bool takes 8); 0 for strings.
int bit_width(DataType type);
// Bytes of `count` packed elements: ceil(count * bits / 8). Throws LimitExceeded on overflow.
uint64_t packed_size(DataType type, int64_t count);

bool is_float(DataType type);
bool is_integer(DataType type);  // signed and unsigned, sub-byte ones too; not bool
bool is_signed_integer(DataType type);

// MIL's text names: "fp16", "int32", "bool", "string", "bf16", "uint4", ...
std::string_view to_string(DataType type);
std::optional<DataType> parse_data_type(std::string_view name);
// A number from a file; nullopt if it names no type.
std::optional<DataType> data_type_from_number(int64_t number);

}  // namespace pippin::mil
