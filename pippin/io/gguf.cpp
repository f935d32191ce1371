#include "pippin/io/gguf.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint64_t kMostEntries = 1'000'000;

struct Type {
  uint32_t number;
  GgufBlock block;
};
constexpr Type kTypes[] = {
    {0, {"F32", 1, 4}},        {1, {"F16", 1, 2}},         {2, {"Q4_0", 32, 18}},
    {3, {"Q4_1", 32, 20}},     {6, {"Q5_0", 32, 22}},      {7, {"Q5_1", 32, 24}},
    {8, {"Q8_0", 32, 34}},     {9, {"Q8_1", 32, 36}},      {10, {"Q2_K", 256, 84}},
    {11, {"Q3_K", 256, 110}},  {12, {"Q4_K", 256, 144}},   {13, {"Q5_K", 256, 176}},
    {14, {"Q6_K", 256, 210}},  {15, {"Q8_K", 256, 292}},   {16, {"IQ2_XXS", 256, 66}},
    {17, {"IQ2_XS", 256, 74}}, {18, {"IQ3_XXS", 256, 98}}, {19, {"IQ1_S", 256, 50}},
    {21, {"IQ3_S", 256, 110}}, {22, {"IQ2_S", 256, 82}},   {29, {"IQ1_M", 256, 56}},
    {34, {"TQ1_0", 256, 54}},  {35, {"TQ2_0", 256, 66}},   {40, {"NVFP4", 64, 36}},
    {20, {"IQ4_NL", 32, 18}},  {23, {"IQ4_XS", 256, 136}}, {24, {"I8", 1, 1}},
    {25, {"I16", 1, 2}},       {26, {"I32", 1, 4}},        {27, {"I64", 1, 8}},
    {28, {"F64", 1, 8}},       {30, {"BF16", 1, 2}},       {39, {"MXFP4", 32, 17}}};

class Parser {
 public:
  Parser(ByteSpan file, const std::string& name) : file_(file), name_(name), reader_(file, name) {}

  GgufContent parse() {
    if (file_.size() < 4 || reader_.read<uint32_t>() != kMagic) {
      fail(ErrorCode::InvalidFile, "{}: not a GGUF file", name_);
    }
    const auto version = reader_.read<uint32_t>();
    if (version != 2 && version != 3) {
      fail(ErrorCode::Unsupported, "{}: version {} of GGUF is not read, 2 and 3 are", name_,
           version);
    }
    const uint64_t tensors = count(8 + 4 + 4 + 8), pairs = count(8 + 4 + 1);
    GgufContent content;
    for (uint64_t i = 0; i < pairs; ++i) {
      std::string key(text());
      content.metadata.emplace_back(std::move(key), value());
    }
    std::vector<uint64_t> offsets;
    for (uint64_t i = 0; i < tensors; ++i) {
      content.tensors.push_back(description());
      offsets.push_back(reader_.read<uint64_t>());
    }
    place(content, offsets);
    return content;
  }

 private:
  // Reads a count of items that take at least `bytes` each.
  uint64_t count(uint64_t bytes) {
    const auto result = reader_.read<uint64_t>();
    if (result > kMostEntries || result > reader_.remaining() / bytes) {
      fail(ErrorCode::InvalidFile, "{}: {} entries are stated, {} bytes are left", name_, result,
           reader_.remaining());
    }
    return result;
  }

  std::string_view text() {
    const auto length = reader_.read<uint64_t>();
    if (length > reader_.remaining()) {
      fail(ErrorCode::InvalidFile, "{}: a text of {} bytes is stated, {} are left", name_, length,
           reader_.remaining());
    }
    return as_text(reader_.take(static_cast<size_t>(length)));
  }

  GgufValueType value_type() {
    const auto number = reader_.read<uint32_t>();
    if (number > static_cast<uint32_t>(GgufValueType::F64)) {
      fail(ErrorCode::InvalidFile, "{}: {} is not a value type", name_, number);
    }
    return static_cast<GgufValueType>(number);
  }

  GgufValue value() {
    GgufValue result{value_type()};
    if (result.type == GgufValueType::Array) {
      result.is_array = true;
      result.type = value_type();
      if (result.type == GgufValueType::Array) {
        fail(ErrorCode::Unsupported, "{}: arrays of arrays are not read", name_);
      }
      result.count = reader_.read<uint64_t>();
    }
    const size_t size = byte_size(result.type);
    if (result.count > reader_.remaining() / (size == 0 ? 8 : size)) {
      fail(ErrorCode::InvalidFile, "{}: a value of {} elements is stated, {} bytes are left", name_,
           result.count, reader_.remaining());
    }
    if (size == 0) {
      const size_t begin = reader_.position();
      for (uint64_t i = 0; i < result.count; ++i) text();
      result.data = file_.subspan(begin, reader_.position() - begin);
    } else {
      result.data = reader_.take(static_cast<size_t>(result.count) * size);
    }
    return result;
  }

  GgufTensor description() {
    GgufTensor tensor;
    tensor.name = text();
    const auto rank = reader_.read<uint32_t>();
    if (rank > 8) {
      fail(ErrorCode::InvalidFile, "{}: tensor {} has {} axes", name_, tensor.name, rank);
    }
    for (uint32_t i = 0; i < rank; ++i) {
      const auto size = reader_.read<uint64_t>();
      if (size > uint64_t{1} << 48) {
        fail(ErrorCode::InvalidFile, "{}: tensor {} has an axis of size {}", name_, tensor.name,
             size);
      }
      tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(size));
    }
    tensor.type = reader_.read<uint32_t>();
    return tensor;
  }

  uint64_t alignment(const GgufContent& content) const {
    for (const auto& [key, value] : content.metadata) {
      if (key != "general.alignment" || value.type != GgufValueType::U32 || value.is_array)
        continue;
      const auto bytes = ByteReader(value.data, name_).read<uint32_t>();
      if (bytes == 0 || (bytes & (bytes - 1)) != 0) {
        fail(ErrorCode::InvalidFile, "{}: an alignment of {} bytes", name_, bytes);
      }
      return bytes;
    }
    return 32;
  }

  void place(GgufContent& content, const std::vector<uint64_t>& offsets) const {
    const uint64_t aligned = align_up<uint64_t>(reader_.position(), alignment(content));
    const size_t begin = static_cast<size_t>(std::min<uint64_t>(aligned, file_.size()));
    const ByteSpan data = file_.subspan(begin);
    std::set<std::string_view> names;
    for (size_t i = 0; i < content.tensors.size(); ++i) {
      GgufTensor& tensor = content.tensors[i];
      const std::string where = name_ + ": tensor " + tensor.name;
      if (!names.insert(tensor.name).second) {
        fail(ErrorCode::InvalidFile, "{} occurs twice", where);
      }
      const GgufBlock block = gguf_block(tensor.type, where);
      std::optional<int64_t> elements = 1;
      for (const int64_t size : tensor.shape) {
        if (elements) elements = checked_mul(*elements, size);
      }
      const int64_t last = tensor.shape.empty() ? 1 : tensor.shape.back();
      if (!elements || last % block.elements != 0) {
        fail(ErrorCode::InvalidFile, "{}: its sizes are not whole blocks of {} elements of {}",
             where, block.elements, block.name);
      }
      const auto bytes = checked_mul(*elements / block.elements, block.bytes);
      if (!bytes || offsets[i] > data.size() ||
          static_cast<uint64_t>(*bytes) > data.size() - offsets[i]) {
        fail(ErrorCode::InvalidFile, "{} needs {} bytes at offset {}, the data has {}", where,
             bytes.value_or(-1), offsets[i], data.size());
      }
      tensor.data = data.subspan(static_cast<size_t>(offsets[i]), static_cast<size_t>(*bytes));
    }
  }

  ByteSpan file_;
  const std::string& name_;
  ByteReader reader_;
};

}  // namespace

size_t byte_size(GgufValueType type) {
  switch (type) {
    case GgufValueType::U8:
    case GgufValueType::I8:
    case GgufValueType::Bool:
      return 1;
    case GgufValueType::U16:
    case GgufValueType::I16:
      return 2;
    case GgufValueType::U32:
    case GgufValueType::I32:
    case GgufValueType::F32:
      return 4;
    case GgufValueType::U64:
    case GgufValueType::I64:
    case GgufValueType::F64:
      return 8;
    default:
      return 0;
  }
}

std::vector<std::string_view> GgufValue::texts() const {
  std::vector<std::string_view> result;
  if (type != GgufValueType::Text) return result;
  result.reserve(static_cast<size_t>(count));
  for (size_t at = 0; at < data.size();) {
    uint64_t length;
    std::memcpy(&length, data.data() + at, sizeof(length));
    at += sizeof(length);
    result.push_back(as_text(data.subspan(at, static_cast<size_t>(length))));
    at += static_cast<size_t>(length);
  }
  return result;
}

GgufBlock gguf_block(uint32_t type, const std::string& where) {
  for (const Type& known : kTypes) {
    if (known.number == type) return known.block;
  }
  fail(ErrorCode::Unsupported, "{}: {} names no known type", where, type);
}

GgufContent parse_gguf(ByteSpan file, const std::string& name) {
  return Parser(file, name).parse();
}

}  // namespace pippin
