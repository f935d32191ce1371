#include "pippin/coreml/strided.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/numbers/float_convert.h"

namespace pippin::coreml {
namespace {

using mil::DataType;

size_t item_size(DataType type) {
  return static_cast<size_t>(mil::bit_width(type)) / 8;
}

// Calls body(offset in elements, index of the first, number of contiguous elements) for all
// elements in order.
template <typename Body>
void for_each_run(const Elements& elements, Body&& body) {
  std::vector<int64_t> shape = elements.shape, strides = elements.strides;
  int64_t run = 1;  // number of contiguous elements of the innermost axes
  while (!shape.empty() && (strides.back() == run || shape.back() == 1)) {
    run *= shape.back();
    shape.pop_back();
    strides.pop_back();
  }
  int64_t count = run > 0 ? 1 : 0;
  for (const int64_t size : shape) count *= size;
  std::vector<int64_t> place(shape.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    body(offset, static_cast<size_t>(i * run), static_cast<size_t>(run));
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++place[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      place[axis] = 0;
    }
  }
}

// Calls body(elements, packed, size) for the pieces of rows that are contiguous on both sides.
template <typename Byte, typename Body>
void for_each_piece(const Elements& elements, const engine::StateRows& rows, Byte* packed,
                    uint64_t stride, Body&& body) {
  if (rows.size() == 0) return;
  const uint64_t size = item_size(elements.type), group = rows.rows * rows.row_bytes;
  for_each_run(elements, [&](int64_t offset, size_t index, size_t count) {
    const uint64_t begin = index * size, end = begin + count * size;
    for (uint64_t i = begin / group; i * group < end; ++i) {
      const uint64_t first = i * group + rows.first * rows.row_bytes;
      const uint64_t from = std::max(begin, first);
      const uint64_t to = std::min(end, first + rows.group_bytes());
      if (from >= to) continue;
      body(elements.data + static_cast<uint64_t>(offset) * size + (from - begin),
           packed + i * stride + (from - first), to - from);
    }
  });
}

template <typename From, typename To>
To convert(From value) {
  if constexpr (std::is_integral_v<From> && sizeof(To) < sizeof(From)) {
    value = std::clamp(value, From{std::numeric_limits<To>::min()},
                       From{std::numeric_limits<To>::max()});
  }
  return static_cast<To>(value);
}

template <typename From, typename To>
void convert_run(const std::byte* from, std::byte* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    const To result = convert<From, To>(value);
    std::memcpy(to + i * sizeof(To), &result, sizeof(To));
  }
}

void run_to_plan(DataType type, const std::byte* from, std::byte* to, size_t count) {
  switch (type) {
    case DataType::Float16:
      return convert_f16_to_f32(from, to, count);
    case DataType::Float64:
      return convert_run<double, float>(from, to, count);
    case DataType::Int8:
      return convert_run<int8_t, int32_t>(from, to, count);
    default:
      std::memcpy(to, from, count * 4);
  }
}

void run_from_plan(DataType type, const std::byte* from, std::byte* to, size_t count) {
  switch (type) {
    case DataType::Float16:
      convert_f32_to_f16(from, to, count);
      return;
    case DataType::Float64:
      return convert_run<float, double>(from, to, count);
    case DataType::Int8:
      return convert_run<int32_t, int8_t>(from, to, count);
    default:
      std::memcpy(to, from, count * 4);
  }
}

// Calls body(element of the picture, index in the program's tensor).
template <typename Body>
void for_each_pixel(const Elements& picture, mil::ColorSpace space, Body&& body) {
  const int64_t height = picture.shape[0], width = picture.shape[1];
  const int64_t channels = picture.shape[2] == 1 ? 1 : 3;
  const size_t size = item_size(picture.type);
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t byte = channels == 3 && space != mil::ColorSpace::Bgr ? 2 - c : c;
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const int64_t offset =
            y * picture.strides[0] + x * picture.strides[1] + byte * picture.strides[2];
        body(picture.data + static_cast<size_t>(offset) * size,
             static_cast<size_t>((c * height + y) * width + x));
      }
    }
  }
}

}  // namespace

bool is_seen_as_float(DataType type) {
  return mil::is_float(type);
}

void to_plan(const Elements& from, std::byte* packed) {
  const size_t size = item_size(from.type);
  for_each_run(from, [&](int64_t offset, size_t index, size_t count) {
    run_to_plan(from.type, from.data + static_cast<size_t>(offset) * size, packed + index * 4,
                count);
  });
}

void from_plan(const std::byte* packed, const Elements& to) {
  const size_t size = item_size(to.type);
  for_each_run(to, [&](int64_t offset, size_t index, size_t count) {
    run_from_plan(to.type, packed + index * 4, to.data + static_cast<size_t>(offset) * size, count);
  });
}

void pack(const Elements& from, std::byte* packed) {
  const size_t size = item_size(from.type);
  for_each_run(from, [&](int64_t offset, size_t index, size_t count) {
    std::memcpy(packed + index * size, from.data + static_cast<size_t>(offset) * size,
                count * size);
  });
}

void unpack(const std::byte* packed, const Elements& to) {
  const size_t size = item_size(to.type);
  for_each_run(to, [&](int64_t offset, size_t index, size_t count) {
    std::memcpy(to.data + static_cast<size_t>(offset) * size, packed + index * size, count * size);
  });
}

void pack_rows(const Elements& from, const engine::StateRows& rows, std::byte* packed,
               uint64_t stride) {
  for_each_piece(from, rows, packed, stride,
                 [](const std::byte* elements, std::byte* to, uint64_t size) {
                   std::memcpy(to, elements, size);
                 });
}

void unpack_rows(const std::byte* packed, const engine::StateRows& rows, uint64_t stride,
                 const Elements& to) {
  for_each_piece(to, rows, packed, stride,
                 [](std::byte* elements, const std::byte* from, uint64_t size) {
                   std::memcpy(elements, from, size);
                 });
}

PixelFormat pixel_format(mil::ColorSpace space) {
  switch (space) {
    case mil::ColorSpace::Grayscale:
      return PixelFormat::Gray;
    case mil::ColorSpace::GrayscaleFloat16:
      return PixelFormat::GrayHalf;
    default:
      return PixelFormat::Bgra;
  }
}

void from_picture(const Elements& from, mil::ColorSpace space, std::byte* packed) {
  for_each_pixel(from, space, [&](const std::byte* element, size_t index) {
    float value = 0;
    if (from.type == DataType::Float16) {
      float16 half;
      std::memcpy(&half, element, sizeof(half));
      value = to_float(half);
    } else {
      value = static_cast<float>(std::to_integer<int>(*element));
    }
    std::memcpy(packed + index * sizeof(value), &value, sizeof(value));
  });
}

void to_picture(const std::byte* packed, mil::ColorSpace space, const Elements& to) {
  for_each_pixel(to, space, [&](std::byte* element, size_t index) {
    float value;
    std::memcpy(&value, packed + index * sizeof(value), sizeof(value));
    if (to.type == DataType::Float16) {
      const float16 half = to_float16(value);
      std::memcpy(element, &half, sizeof(half));
    } else {
      // NaN becomes 0.
      const float kept = value > 0 ? std::min(std::nearbyint(value), 255.0F) : 0;
      *element = static_cast<std::byte>(static_cast<int>(kept));
    }
  });
  if (to.shape[2] != 4) return;
  for (int64_t y = 0; y < to.shape[0]; ++y) {
    for (int64_t x = 0; x < to.shape[1]; ++x) {
      to.data[y * to.strides[0] + x * to.strides[1] + 3] = std::byte{255};
    }
  }
}

}  // namespace pippin::coreml
