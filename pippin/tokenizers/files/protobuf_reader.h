// Reads the wire format of protobuf, field by field.
#pragma once

#include <cstdint>
#include <string_view>

namespace pippin::tokenizers {

class ProtobufReader {
 public:
  // `name` starts error messages.
  ProtobufReader(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  // Moves to the next field. Returns false at the end. Throws InvalidFile if the bytes are not a
  // protobuf.
  bool next();
  uint32_t field() const { return field_; }

  // Return the field's value. Each throws InvalidFile if the field has another wire type.
  std::string_view bytes() const;
  ProtobufReader message() const { return {bytes(), name_}; }
  uint64_t varint() const;
  bool boolean() const { return varint() != 0; }
  int32_t int32() const { return static_cast<int32_t>(static_cast<uint32_t>(varint())); }
  float float32() const;

 private:
  enum class Wire : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
  uint64_t read_varint();
  std::string_view take(uint64_t count);
  void expect(Wire wire) const;
  [[noreturn]] void broken() const;

  std::string_view bytes_, name_;
  size_t position_ = 0;
  uint32_t field_ = 0;
  Wire wire_ = Wire::Varint;
  uint64_t number_ = 0;
  std::string_view content_;
};

}  // namespace pippin::tokenizers
