// A protobuf message, read in place.
//
// Networks hold hundreds of kinds of small messages around large weights. Fields are looked up by
// number without copying, and weights stay in the mapped file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/byte_span.h"

namespace pippin::mil::networks {

// The number of a field, and its name for messages.
struct Field {
  uint32_t number;
  std::string_view name;
};

class Fields {
 public:
  Fields() = default;
  // Throws InvalidFile if the message is damaged.
  explicit Fields(ByteSpan bytes);

  bool has(const Field& field) const { return find(field) != nullptr; }

  // Single values: the last one of the message, zero or empty if the field is absent. They throw
  // InvalidFile if it has another wire type.
  int64_t integer(const Field& field) const;
  bool flag(const Field& field) const { return integer(field) != 0; }
  // A number of an enumeration of 0 to `count` - 1; throws InvalidFile for others.
  size_t choice(const Field& field, size_t count) const;
  float number(const Field& field) const;
  std::string text(const Field& field) const;
  ByteSpan bytes(const Field& field) const;
  Fields message(const Field& field) const;

  // Repeated values, packed or not.
  std::vector<int64_t> integers(const Field& field) const;
  std::vector<bool> flags(const Field& field) const;
  std::vector<float> numbers(const Field& field) const;
  std::vector<std::string> texts(const Field& field) const;
  std::vector<Fields> messages(const Field& field) const;
  // The pieces of a packed list of floats, in order.
  std::vector<ByteSpan> pieces(const Field& field) const;

  // The numbers of all fields, in the order of the file.
  std::vector<uint32_t> field_numbers() const;

 private:
  struct Item {
    uint32_t field;
    uint8_t wire;
    uint64_t value;  // a varint, or the start of the content
    uint64_t size;   // of the content
  };
  const Item* find(const Field& field) const;
  ByteSpan content(const Item& item, const Field& field) const;
  [[noreturn]] static void fail_wire(const Field& field, int wire);

  ByteSpan bytes_;
  std::vector<Item> items_;
};

}  // namespace pippin::mil::networks
