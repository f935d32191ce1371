#include "pippin/mil/networks/fields.h"

#include <bit>
#include <cstring>

#include "pippin/base/error.h"

namespace pippin::mil::networks {
namespace {

enum Wire : uint8_t { WireVarint = 0, WireFixed64 = 1, WireContent = 2, WireFixed32 = 5 };

[[noreturn]] void fail_damaged(size_t position) {
  fail(ErrorCode::InvalidFile, "the protobuf message is cut off or damaged at byte {}", position);
}

// Reads a varint and advances `position` past it.
uint64_t read_varint(ByteSpan bytes, size_t& position) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (position >= bytes.size()) fail_damaged(position);
    const auto byte = static_cast<uint64_t>(bytes[position++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail_damaged(position);
}

float read_float(ByteSpan bytes, size_t position) {
  float value = 0;
  std::memcpy(&value, bytes.data() + position, sizeof(value));
  return value;
}

}  // namespace

Fields::Fields(ByteSpan bytes) : bytes_(bytes) {
  static_assert(std::endian::native == std::endian::little);
  for (size_t position = 0; position < bytes.size();) {
    const uint64_t tag = read_varint(bytes, position);
    Item item{static_cast<uint32_t>(tag >> 3), static_cast<uint8_t>(tag & 7), position, 0};
    switch (item.wire) {
      case WireVarint:
        item.value = read_varint(bytes, position);
        items_.push_back(item);
        continue;
      case WireFixed64:
        item.size = 8;
        break;
      case WireFixed32:
        item.size = 4;
        break;
      case WireContent:
        item.size = read_varint(bytes, position);
        item.value = position;
        break;
      default:
        fail_damaged(position);
    }
    if (item.field == 0 || item.size > bytes.size() - position) fail_damaged(position);
    position += item.size;
    items_.push_back(item);
  }
}

const Fields::Item* Fields::find(const Field& field) const {
  for (size_t i = items_.size(); i > 0; --i) {
    if (items_[i - 1].field == field.number) return &items_[i - 1];
  }
  return nullptr;
}

void Fields::fail_wire(const Field& field, int wire) {
  fail(ErrorCode::InvalidFile, "the field {} ({}) has wire type {}", field.name, field.number,
       wire);
}

ByteSpan Fields::content(const Item& item, const Field& field) const {
  if (item.wire != WireContent) fail_wire(field, item.wire);
  return bytes_.subspan(item.value, item.size);
}

int64_t Fields::integer(const Field& field) const {
  const Item* item = find(field);
  if (item == nullptr) return 0;
  if (item->wire != WireVarint) fail_wire(field, item->wire);
  return static_cast<int64_t>(item->value);
}

size_t Fields::choice(const Field& field, size_t count) const {
  const int64_t value = integer(field);
  if (value < 0 || static_cast<size_t>(value) >= count) {
    fail(ErrorCode::InvalidFile, "unknown {} {}", field.name, value);
  }
  return static_cast<size_t>(value);
}

float Fields::number(const Field& field) const {
  const Item* item = find(field);
  if (item == nullptr) return 0;
  if (item->wire != WireFixed32) fail_wire(field, item->wire);
  return read_float(bytes_, item->value);
}

ByteSpan Fields::bytes(const Field& field) const {
  const Item* item = find(field);
  return item == nullptr ? ByteSpan() : content(*item, field);
}

std::string Fields::text(const Field& field) const {
  const ByteSpan span = bytes(field);
  return {reinterpret_cast<const char*>(span.data()), span.size()};
}

Fields Fields::message(const Field& field) const {
  return Fields(bytes(field));
}

std::vector<int64_t> Fields::integers(const Field& field) const {
  std::vector<int64_t> values;
  for (const Item& item : items_) {
    if (item.field != field.number) continue;
    if (item.wire == WireVarint) {
      values.push_back(static_cast<int64_t>(item.value));
      continue;
    }
    const ByteSpan packed = content(item, field);
    for (size_t position = 0; position < packed.size();) {
      values.push_back(static_cast<int64_t>(read_varint(packed, position)));
    }
  }
  return values;
}

std::vector<bool> Fields::flags(const Field& field) const {
  const std::vector<int64_t> numbers = integers(field);
  return {numbers.begin(), numbers.end()};
}

std::vector<ByteSpan> Fields::pieces(const Field& field) const {
  std::vector<ByteSpan> pieces;
  for (const Item& item : items_) {
    if (item.field != field.number) continue;
    if (item.wire != WireContent && item.wire != WireFixed32) fail_wire(field, item.wire);
    if (item.size % sizeof(float) != 0) {
      fail(ErrorCode::InvalidFile, "the field {} ({}) has {} bytes of floats", field.name,
           field.number, item.size);
    }
    if (item.size > 0) pieces.push_back(bytes_.subspan(item.value, item.size));
  }
  return pieces;
}

std::vector<float> Fields::numbers(const Field& field) const {
  std::vector<float> values;
  for (const ByteSpan piece : pieces(field)) {
    const size_t count = values.size();
    values.resize(count + piece.size() / sizeof(float));
    std::memcpy(values.data() + count, piece.data(), piece.size());
  }
  return values;
}

std::vector<std::string> Fields::texts(const Field& field) const {
  std::vector<std::string> values;
  for (const Item& item : items_) {
    if (item.field != field.number) continue;
    const ByteSpan span = content(item, field);
    values.emplace_back(reinterpret_cast<const char*>(span.data()), span.size());
  }
  return values;
}

std::vector<Fields> Fields::messages(const Field& field) const {
  std::vector<Fields> values;
  for (const Item& item : items_) {
    if (item.field == field.number) values.emplace_back(content(item, field));
  }
  return values;
}

std::vector<uint32_t> Fields::field_numbers() const {
  std::vector<uint32_t> numbers;
  numbers.reserve(items_.size());
  for (const Item& item : items_) numbers.push_back(item.field);
  return numbers;
}

}  // namespace pippin::mil::networks
