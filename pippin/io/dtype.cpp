#include "pippin/io/dtype.h"

namespace pippin {
namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  int64_t bits;
};
// In enum order.
constexpr Row kRows[] = {
    {Dtype::Bool, "BOOL", 8},      {Dtype::F4, "F4", 4},          {Dtype::F6E2M3, "F6_E2M3", 6},
    {Dtype::F6E3M2, "F6_E3M2", 6}, {Dtype::U8, "U8", 8},          {Dtype::I8, "I8", 8},
    {Dtype::F8E5M2, "F8_E5M2", 8}, {Dtype::F8E4M3, "F8_E4M3", 8}, {Dtype::F8E8M0, "F8_E8M0", 8},
    {Dtype::I16, "I16", 16},       {Dtype::U16, "U16", 16},       {Dtype::F16, "F16", 16},
    {Dtype::BF16, "BF16", 16},     {Dtype::I32, "I32", 32},       {Dtype::U32, "U32", 32},
    {Dtype::F32, "F32", 32},       {Dtype::C64, "C64", 64},       {Dtype::F64, "F64", 64},
    {Dtype::I64, "I64", 64},       {Dtype::U64, "U64", 64},
};
const Row& row(Dtype dtype) {
  return kRows[static_cast<size_t>(dtype)];
}

}  // namespace

int64_t bits(Dtype dtype) {
  return row(dtype).bits;
}

std::string_view to_string(Dtype dtype) {
  return row(dtype).name;
}

std::optional<Dtype> parse_dtype(std::string_view name) {
  for (const Row& candidate : kRows) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

}  // namespace pippin
