#include "tests/coreml/standin_arrays.h"

#include <algorithm>
#include <cstring>

namespace pippin::standin {
namespace {

// Calls body(index of an element, its offset in elements) for all elements in order.
template <typename Body>
void for_each_element(const Layout& layout, Body&& body) {
  std::vector<int64_t> place(layout.shape.size(), 0);
  const int64_t count = layout.count();
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < place.size(); ++axis) offset += place[axis] * layout.strides[axis];
    body(static_cast<size_t>(i), static_cast<size_t>(offset));
    for (size_t axis = place.size(); axis-- > 0;) {
      if (++place[axis] < layout.shape[axis]) break;
      place[axis] = 0;
    }
  }
}

std::vector<int64_t> packed_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * shape[axis];
  }
  return strides;
}

bool is_packed(const Layout& layout) {
  return layout.strides == packed_strides(layout.shape);
}

}  // namespace

size_t Layout::item() const {
  return static_cast<size_t>(mil::bit_width(type)) / 8;
}

int64_t Layout::count() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

size_t Layout::span_bytes() const {
  if (count() == 0) return 0;
  int64_t last = shape.empty() ? 1 : strides[0] * shape[0];
  return static_cast<size_t>(last) * item();
}

Layout padded(mil::DataType type, const std::vector<int64_t>& shape, int extra) {
  Layout layout{type, shape, packed_strides(shape)};
  if (shape.size() < 2) return layout;
  const auto piece = static_cast<int64_t>(64 / layout.item());
  const size_t rows = shape.size() - 2;
  layout.strides[rows] = ((shape.back() + piece - 1) / piece + extra) * piece;
  for (size_t axis = rows; axis-- > 0;) {
    layout.strides[axis] = layout.strides[axis + 1] * shape[axis + 1];
  }
  return layout;
}

void poison(std::byte* data, const Layout& layout) {
  // NaN in every float type, and never a valid index.
  std::fill_n(data, layout.span_bytes(), std::byte{0xFF});
}

std::shared_ptr<std::byte> poisoned(const Layout& layout) {
  constexpr std::align_val_t kPage{4096};
  std::shared_ptr<std::byte> data(
      static_cast<std::byte*>(::operator new(std::max<size_t>(layout.span_bytes(), 1), kPage)),
      [](std::byte* memory) { ::operator delete (memory, std::align_val_t{4096}); });
  poison(data.get(), layout);
  return data;
}

void copy(const std::byte* from, const Layout& from_layout, std::byte* to,
          const Layout& to_layout) {
  unpack(pack(from, from_layout), to, to_layout);
}

std::vector<std::byte> pack(const std::byte* from, const Layout& layout) {
  const size_t item = layout.item();
  if (is_packed(layout)) return {from, from + layout.span_bytes()};
  std::vector<std::byte> packed(static_cast<size_t>(layout.count()) * item);
  for_each_element(layout, [&](size_t i, size_t offset) {
    std::memcpy(packed.data() + i * item, from + offset * item, item);
  });
  return packed;
}

void unpack(const std::vector<std::byte>& packed, std::byte* to, const Layout& layout) {
  const size_t item = layout.item();
  if (is_packed(layout)) {
    std::copy(packed.begin(), packed.end(), to);
    return;
  }
  for_each_element(layout, [&](size_t i, size_t offset) {
    std::memcpy(to + offset * item, packed.data() + i * item, item);
  });
}

}  // namespace pippin::standin
