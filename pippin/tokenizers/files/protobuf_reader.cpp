#include "pippin/tokenizers/files/protobuf_reader.h"

#include <bit>

#include "pippin/base/error.h"

namespace pippin::tokenizers {

bool ProtobufReader::next() {
  if (position_ == bytes_.size()) return false;
  const uint64_t tag = read_varint();
  if (tag >> 32 != 0 || tag >> 3 == 0) broken();
  field_ = static_cast<uint32_t>(tag >> 3);
  wire_ = static_cast<Wire>(tag & 7);
  switch (wire_) {
    case Wire::Varint:
      number_ = read_varint();
      return true;
    case Wire::Fixed64:
      content_ = take(8);
      return true;
    case Wire::Bytes:
      content_ = take(read_varint());
      return true;
    case Wire::Fixed32:
      content_ = take(4);
      return true;
  }
  broken();  // groups, and types that do not exist
}

std::string_view ProtobufReader::bytes() const {
  expect(Wire::Bytes);
  return content_;
}

uint64_t ProtobufReader::varint() const {
  expect(Wire::Varint);
  return number_;
}

float ProtobufReader::float32() const {
  expect(Wire::Fixed32);
  uint32_t bits = 0;
  for (size_t i = 0; i < 4; ++i) {
    bits |= uint32_t{static_cast<unsigned char>(content_[i])} << (8 * i);
  }
  return std::bit_cast<float>(bits);
}

uint64_t ProtobufReader::read_varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  broken();
}

std::string_view ProtobufReader::take(uint64_t count) {
  if (count > bytes_.size() - position_) broken();
  const std::string_view taken = bytes_.substr(position_, static_cast<size_t>(count));
  position_ += static_cast<size_t>(count);
  return taken;
}

void ProtobufReader::expect(Wire wire) const {
  if (wire_ != wire) {
    fail(ErrorCode::InvalidFile, "{}: field {} has wire type {}, not {}", name_, field_,
         static_cast<uint32_t>(wire_), static_cast<uint32_t>(wire));
  }
}

void ProtobufReader::broken() const {
  fail(ErrorCode::InvalidFile, "{}: not a SentencePiece model: no protobuf field at byte {} of {}",
       name_, position_, bytes_.size());
}

}  // namespace pippin::tokenizers
