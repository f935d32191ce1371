// Arrays of the stand-in: strided memory with poison between the elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/coreml/standin_engine.h"

namespace pippin::standin {

struct Layout {
  mil::DataType type = mil::DataType::Float32;
  std::vector<int64_t> shape, strides;  // in elements

  size_t item() const;  // bytes of an element
  int64_t count() const;
  size_t span_bytes() const;  // from the first element to the end of the last row
};

// Like the Neural Engine's: rows begin at multiples of 64 bytes, with `extra` such pieces between
// them.
Layout padded(mil::DataType type, const std::vector<int64_t>& shape, int extra = 0);

// Allocates memory for a layout, filled with poison.
std::shared_ptr<std::byte> poisoned(const Layout& layout);
void poison(std::byte* data, const Layout& layout);

// Element by element.
void copy(const std::byte* from, const Layout& from_layout, std::byte* to, const Layout& to_layout);
std::vector<std::byte> pack(const std::byte* from, const Layout& layout);
void unpack(const std::vector<std::byte>& packed, std::byte* to, const Layout& layout);

}  // namespace pippin::standin
