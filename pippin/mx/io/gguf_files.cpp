#include <bit>
#include <cstring>
#include <set>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/io/gguf.h"
#include "pippin/mx/io/io.h"
#include "pippin/mx/ops/unary.h"

namespace pippin::mx {
namespace {

Dtype number_type(GgufValueType type) {
  switch (type) {
    case GgufValueType::U8:
      return uint8;
    case GgufValueType::I8:
      return int8;
    case GgufValueType::U16:
      return uint16;
    case GgufValueType::I16:
      return int16;
    case GgufValueType::U32:
      return uint32;
    case GgufValueType::I32:
      return int32;
    case GgufValueType::U64:
      return uint64;
    case GgufValueType::I64:
      return int64;
    case GgufValueType::F64:
      return float64;
    case GgufValueType::Bool:
      return uint8;
    default:
      return float32;
  }
}

GgufValue value_of(const pippin::GgufValue& from) {
  if (from.type == GgufValueType::Text) {
    const auto texts = from.texts();
    if (from.is_array) return std::vector<std::string>(texts.begin(), texts.end());
    return std::string(texts[0]);
  }
  const Shape shape = from.is_array ? Shape{static_cast<int64_t>(from.count)} : Shape();
  const Dtype stored = number_type(from.type);
  const Dtype dtype = from.type == GgufValueType::F64    ? float32
                      : from.type == GgufValueType::Bool ? bool_
                                                         : stored;
  std::vector<std::byte> aligned(from.data.begin(), from.data.end());
  return array(aligned.data(), stored, shape, dtype);
}

std::optional<Dtype> plain_type(std::string_view name) {
  constexpr std::pair<std::string_view, Dtype> kTypes[] = {
      {"F32", float32}, {"F16", float16}, {"BF16", bfloat16}, {"F64", float64},
      {"I8", int8},     {"I16", int16},   {"I32", int32},     {"I64", int64}};
  for (const auto& [known, dtype] : kTypes) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

float half_at(const std::byte* p) {
  uint16_t bits;
  std::memcpy(&bits, p, 2);
  return to_float(pippin::float16{bits});
}

// Blocks of 32: the scale, for Q4_1 a bias, then codes. In 4-bit blocks, elements j and j + 16
// share a byte; here neighbours do.
struct Unpacked {
  std::vector<uint8_t> codes;
  std::vector<float> scales, biases;
};
Unpacked unpack(std::string_view type, ByteSpan data, int64_t block_bytes) {
  Unpacked result;
  for (const std::byte* block = data.data(); block < data.data() + data.size();
       block += block_bytes) {
    const float scale = half_at(block);
    result.scales.push_back(scale);
    if (type == "Q8_0") {
      result.biases.push_back(-128 * scale);
      for (int i = 0; i < 32; ++i) {
        result.codes.push_back(std::to_integer<uint8_t>(block[2 + i]) ^ 0x80);
      }
      continue;
    }
    const bool has_bias = type == "Q4_1";
    result.biases.push_back(has_bias ? half_at(block + 2) : -8 * scale);
    const std::byte* nibbles = block + (has_bias ? 4 : 2);
    for (const int shift : {0, 4}) {
      for (int i = 0; i < 16; i += 2) {
        const int low = (std::to_integer<int>(nibbles[i]) >> shift) & 15;
        const int high = (std::to_integer<int>(nibbles[i + 1]) >> shift) & 15;
        result.codes.push_back(static_cast<uint8_t>(low | high << 4));
      }
    }
  }
  return result;
}

void add_quantized(ArrayMap& arrays, const GgufTensor& tensor, const GgufBlock& block) {
  const Unpacked unpacked = unpack(block.name, tensor.data, block.bytes);
  Shape codes(tensor.shape), scales(tensor.shape);
  codes.back() = codes.back() / (block.name == "Q8_0" ? 4 : 8);
  scales.back() /= 32;
  constexpr std::string_view kSuffix = ".weight";
  const std::string stem = tensor.name.ends_with(kSuffix)
                               ? tensor.name.substr(0, tensor.name.size() - kSuffix.size())
                               : tensor.name;
  arrays.emplace_back(tensor.name, array(unpacked.codes.data(), uint32, codes, uint32));
  arrays.emplace_back(stem + ".scales", array(unpacked.scales, scales, float16));
  arrays.emplace_back(stem + ".biases", array(unpacked.biases, scales, float16));
}

}  // namespace

std::pair<ArrayMap, GgufMap> load_gguf(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const GgufContent content = parse_gguf(file->bytes(), path.string());
  GgufMap metadata;
  for (const auto& [key, value] : content.metadata) metadata.emplace_back(key, value_of(value));
  ArrayMap arrays;
  for (const GgufTensor& tensor : content.tensors) {
    const GgufBlock block = gguf_block(tensor.type, path.string());
    const bool is_quantized = block.name == "Q4_0" || block.name == "Q4_1" || block.name == "Q8_0";
    if (is_quantized && !tensor.shape.empty()) {
      add_quantized(arrays, tensor, block);
      continue;
    }
    const std::optional<Dtype> dtype = plain_type(block.name);
    if (!dtype) {
      fail(ErrorCode::Unsupported, "{}: tensor {} is of {}, which is not read", path.string(),
           tensor.name, block.name);
    }
    void* data = const_cast<std::byte*>(tensor.data.data());
    const Shape shape(tensor.shape);
    if (std::bit_cast<uintptr_t>(data) % size_of(*dtype) != 0) {
      arrays.emplace_back(tensor.name, array(data, *dtype, shape, *dtype));
    } else {
      arrays.emplace_back(tensor.name,
                          array::borrow(
                              data, *dtype, shape, row_major_strides(shape), [file] {}, false));
    }
  }
  std::set<std::string_view> names;
  for (const auto& [name, each] : arrays) {
    if (!names.insert(name).second) {
      fail(ErrorCode::InvalidFile, "{}: two arrays are called {}", path.string(), name);
    }
  }
  return {std::move(arrays), std::move(metadata)};
}

}  // namespace pippin::mx
