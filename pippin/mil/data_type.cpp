#include "pippin/mil/data_type.h"

#include <array>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin::mil {
namespace {

struct Entry {
  DataType type;
  std::string_view name;
  int bits;
  char kind;  // f(loat), i(nt), u(nsigned), b(ool), s(tring)
};

constexpr std::array kEntries = {
    Entry{DataType::Bool, "bool", 8, 'b'},
    Entry{DataType::String, "string", 0, 's'},
    Entry{DataType::Float16, "fp16", 16, 'f'},
    Entry{DataType::Float32, "fp32", 32, 'f'},
    Entry{DataType::Float64, "fp64", 64, 'f'},
    Entry{DataType::BFloat16, "bf16", 16, 'f'},
    Entry{DataType::Int8, "int8", 8, 'i'},
    Entry{DataType::Int16, "int16", 16, 'i'},
    Entry{DataType::Int32, "int32", 32, 'i'},
    Entry{DataType::Int64, "int64", 64, 'i'},
    Entry{DataType::Int4, "int4", 4, 'i'},
    Entry{DataType::UInt8, "uint8", 8, 'u'},
    Entry{DataType::UInt16, "uint16", 16, 'u'},
    Entry{DataType::UInt32, "uint32", 32, 'u'},
    Entry{DataType::UInt64, "uint64", 64, 'u'},
    Entry{DataType::UInt4, "uint4", 4, 'u'},
    Entry{DataType::UInt2, "uint2", 2, 'u'},
    Entry{DataType::UInt1, "uint1", 1, 'u'},
    Entry{DataType::UInt6, "uint6", 6, 'u'},
    Entry{DataType::UInt3, "uint3", 3, 'u'},
    Entry{DataType::Float8E4M3FN, "fp8e4m3fn", 8, 'f'},
    Entry{DataType::Float8E5M2, "fp8e5m2", 8, 'f'},
};

const Entry& entry(DataType type) {
  for (const Entry& candidate : kEntries) {
    if (candidate.type == type) return candidate;
  }
  fail(ErrorCode::Internal, "no such data type: {}", static_cast<int>(type));
}

}  // namespace

int bit_width(DataType type) {
  return entry(type).bits;
}

uint64_t packed_size(DataType type, int64_t count) {
  const auto bits = checked_mul<int64_t>(count, bit_width(type));
  if (count < 0 || !bits || *bits > INT64_MAX - 7) {
    fail(ErrorCode::LimitExceeded, "{} elements of {} are more than can be addressed", count,
         to_string(type));
  }
  return static_cast<uint64_t>(*bits + 7) / 8;
}

bool is_float(DataType type) {
  return entry(type).kind == 'f';
}
bool is_integer(DataType type) {
  return entry(type).kind == 'i' || entry(type).kind == 'u';
}
bool is_signed_integer(DataType type) {
  return entry(type).kind == 'i';
}
std::string_view to_string(DataType type) {
  return entry(type).name;
}

std::optional<DataType> parse_data_type(std::string_view name) {
  for (const Entry& candidate : kEntries) {
    if (candidate.name == name) return candidate.type;
  }
  return std::nullopt;
}

std::optional<DataType> data_type_from_number(int64_t number) {
  for (const Entry& candidate : kEntries) {
    if (static_cast<int64_t>(candidate.type) == number) return candidate.type;
  }
  return std::nullopt;
}

}  // namespace pippin::mil
