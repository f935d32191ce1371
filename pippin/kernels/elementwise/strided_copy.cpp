#include <algorithm>
#include <cstring>

#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::kernels {
namespace {

struct Dimension {
  int64_t size, x_stride, y_stride;
};

template <typename T>
void copy_line(const T* x, T* y, const Dimension& d) {
  if (d.x_stride == 1 && d.y_stride == 1) {
    std::memcpy(y, x, static_cast<size_t>(d.size) * sizeof(T));
  } else {
    for (int64_t i = 0; i < d.size; ++i) y[i * d.y_stride] = x[i * d.x_stride];
  }
}

// Lines that go across those of x, in blocks of which both sides stay in the first cache.
template <typename T>
void transpose(const T* x, T* y, const Dimension& across, const Dimension& along) {
  constexpr int64_t kBlock = 16, kFew = 8;
  for (int64_t k = 0; along.size < kFew && k < along.size; ++k) {
    copy_line(x + k * along.x_stride, y + k, across);
  }
  if (along.size < kFew) return;
  for (int64_t i = 0; i < across.size; i += kBlock) {
    const int64_t last = std::min(across.size, i + kBlock);
    for (int64_t k = 0; k < along.size; k += kBlock) {
      const Dimension block = {std::min(kBlock, along.size - k), along.x_stride, 1};
      for (int64_t line = i; line < last; ++line) {
        copy_line(x + line + k * along.x_stride, y + line * across.y_stride + k, block);
      }
    }
  }
}

template <typename T>
void copy(const T* x, T* y, const Dimension* dimensions, int rank) {
  if (rank == 1) return copy_line(x, y, dimensions[0]);
  if (rank == 2 && dimensions[0].x_stride == 1 && dimensions[1].y_stride == 1) {
    return transpose(x, y, dimensions[0], dimensions[1]);
  }
  const Dimension& d = dimensions[0];
  for (int64_t i = 0; i < d.size; ++i) {
    copy(x + i * d.x_stride, y + i * d.y_stride, dimensions + 1, rank - 1);
  }
}

}  // namespace

void strided_copy(const CopyArgs& args) noexcept {
  // Dimensions of one element go, and neighbours that are contiguous in both arrays become one.
  Dimension dimensions[kMaxCopyRank + 1];
  int rank = 0;
  for (int i = 0; i < args.rank; ++i) {
    const Dimension d = {args.shape[i], args.x_strides[i], args.y_strides[i]};
    if (d.size == 0) return;
    if (d.size == 1) continue;
    if (rank > 0 && dimensions[rank - 1].x_stride == d.x_stride * d.size &&
        dimensions[rank - 1].y_stride == d.y_stride * d.size) {
      dimensions[rank - 1] = {dimensions[rank - 1].size * d.size, d.x_stride, d.y_stride};
    } else {
      dimensions[rank++] = d;
    }
  }
  if (rank == 0) dimensions[rank++] = {1, 1, 1};
  // Elements that lie side by side in x go last but one where those of y do not.
  if (dimensions[rank - 1].y_stride == 1 && dimensions[rank - 1].x_stride != 1) {
    const auto side = std::find_if(dimensions, dimensions + rank,
                                   [](const Dimension& d) { return d.x_stride == 1; });
    if (side != dimensions + rank) std::rotate(side, side + 1, dimensions + rank - 1);
  }
  const auto run = [&](auto type) {
    using T = decltype(type);
    copy(static_cast<const T*>(args.x), static_cast<T*>(args.y), dimensions, rank);
  };
  switch (args.element_size) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    default:
      return run(uint64_t{});
  }
}

}  // namespace pippin::kernels
