#include "pippin/io/gguf_metadata.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/io/json.h"

namespace pippin {
namespace {

template <typename T>
double as_double(const GgufValue& value, size_t index) {
  T number;
  std::memcpy(&number, value.data.data() + index * sizeof(T), sizeof(T));
  return static_cast<double>(number);
}

}  // namespace

const GgufValue* GgufMetadata::find(std::string_view key) const {
  for (const auto& [name, value] : content_.metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

void GgufMetadata::invalid(std::string_view key, std::string_view what) const {
  fail(ErrorCode::InvalidFile, "{}: {}: {}", name_, key, what);
}

void GgufMetadata::unsupported(std::string_view key, std::string_view what) const {
  fail(ErrorCode::Unsupported, "{}: {}: {}", name_, key, what);
}

double GgufMetadata::element(std::string_view key, const GgufValue& value, size_t index) const {
  switch (value.type) {
    case GgufValueType::U8:
    case GgufValueType::Bool:
      return as_double<uint8_t>(value, index);
    case GgufValueType::I8:
      return as_double<int8_t>(value, index);
    case GgufValueType::U16:
      return as_double<uint16_t>(value, index);
    case GgufValueType::I16:
      return as_double<int16_t>(value, index);
    case GgufValueType::U32:
      return as_double<uint32_t>(value, index);
    case GgufValueType::I32:
      return as_double<int32_t>(value, index);
    case GgufValueType::U64:
      return as_double<uint64_t>(value, index);
    case GgufValueType::I64:
      return as_double<int64_t>(value, index);
    case GgufValueType::F32:
      return as_double<float>(value, index);
    case GgufValueType::F64:
      return as_double<double>(value, index);
    default:
      invalid(key, "no number");
  }
}

std::optional<double> GgufMetadata::number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array) invalid(key, "an array, a number is needed");
  const double number = element(key, *value, 0);
  if (!std::isfinite(number)) invalid(key, "not finite");
  return number;
}

std::optional<int64_t> GgufMetadata::size(std::string_view key) const {
  const auto value = number(key);
  return value ? std::optional(checked_size(key, *value)) : std::nullopt;
}

int64_t GgufMetadata::checked_size(std::string_view key, double number) const {
  // NaN fails the comparison.
  if (!(number >= 0 && number <= 0x1p48) || number != std::floor(number)) {
    invalid(key, fmt::format("{} is not a size", number));
  }
  return static_cast<int64_t>(number);
}

std::optional<bool> GgufMetadata::flag(std::string_view key) const {
  const auto value = number(key);
  return value ? std::optional(*value != 0) : std::nullopt;
}

std::optional<std::string> GgufMetadata::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array || value->type != GgufValueType::Text) invalid(key, "no text");
  return std::string(value->texts().at(0));
}

std::vector<std::string_view> GgufMetadata::texts(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array || value->type != GgufValueType::Text) invalid(key, "no array of texts");
  return value->texts();
}

std::vector<double> GgufMetadata::numbers(std::string_view key) const {
  std::vector<double> result;
  const GgufValue* value = find(key);
  if (value == nullptr) return result;
  if (!value->is_array) invalid(key, "no array");
  for (size_t i = 0; i < value->count; ++i) result.push_back(element(key, *value, i));
  return result;
}

std::string GgufMetadata::bytes(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return {};
  const bool byte = value->type == GgufValueType::U8 || value->type == GgufValueType::I8;
  if (!value->is_array || !byte) invalid(key, "no array of bytes");
  std::string result(value->data.size(), '\0');
  std::memcpy(result.data(), value->data.data(), result.size());
  return result;
}

bool GgufMetadata::is_array(std::string_view key) const {
  const GgufValue* value = find(key);
  return value != nullptr && value->is_array;
}

std::optional<std::string> GgufMetadata::json(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  JsonWriter json;
  const auto write = [&](size_t index) {
    const double number = element(key, *value, index);
    if (!std::isfinite(number)) invalid(key, "not finite");
    if (value->type == GgufValueType::Bool) {
      json.value(number != 0);
    } else if (value->type == GgufValueType::F32 || value->type == GgufValueType::F64) {
      json.value(number);
    } else {
      json.value(static_cast<int64_t>(number));
    }
  };
  if (value->is_array) json.begin_array();
  if (value->type == GgufValueType::Text) {
    for (const std::string_view text : value->texts()) json.value(text);
  } else {
    for (size_t i = 0; i < value->count; ++i) write(i);
  }
  if (value->is_array) json.end_array();
  return json.text();
}

const GgufTensor* GgufMetadata::tensor(std::string_view name) const {
  const auto found = std::find_if(content_.tensors.begin(), content_.tensors.end(),
                                  [&](const GgufTensor& tensor) { return tensor.name == name; });
  return found == content_.tensors.end() ? nullptr : &*found;
}

std::vector<double> GgufMetadata::tensor_numbers(std::string_view name) const {
  const GgufTensor* found = tensor(name);
  if (found == nullptr || gguf_block(found->type, name_).name != "F32") {
    fail(ErrorCode::InvalidFile, "{}: tensor {} of F32 is missing", name_, name);
  }
  std::vector<double> result(found->data.size() / sizeof(float));
  for (size_t i = 0; i < result.size(); ++i) {
    float value;
    std::memcpy(&value, found->data.data() + i * sizeof(float), sizeof(float));
    result[i] = value;
  }
  return result;
}

}  // namespace pippin
