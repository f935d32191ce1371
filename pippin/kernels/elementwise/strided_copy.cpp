#include <algorithm>
#include <cstring>
#include <type_traits>

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

// Interleaves three lines of n elements, x_stride apart, as [n, 3]: the colours of an image.
int64_t interleave(const uint32_t* x, int64_t x_stride, uint32_t* y, int64_t n) {
  using Four = uint32_t __attribute__((vector_size(16)));
  int64_t i = 0;
  for (; i + 4 <= n; i += 4, y += 12) {
    Four a, b, c;
    std::memcpy(&a, x + i, sizeof a);
    std::memcpy(&b, x + i + x_stride, sizeof b);
    std::memcpy(&c, x + i + 2 * x_stride, sizeof c);
    const Four ab01 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const Four ab23 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Four bc1 = __builtin_shufflevector(ab01, c, 3, 5, 3, 5);
    const Four first = __builtin_shufflevector(ab01, c, 0, 1, 4, 2);
    const Four second = __builtin_shufflevector(bc1, ab23, 0, 1, 4, 5);
    const Four third = __builtin_shufflevector(ab23, c, 6, 2, 3, 7);
    std::memcpy(y, &first, sizeof first);
    std::memcpy(y + 4, &second, sizeof second);
    std::memcpy(y + 8, &third, sizeof third);
  }
  return i;
}

// Transposes lines in blocks whose source and destination both stay in the first-level cache.
template <typename T>
void transpose(const T* x, T* y, Dimension across, const Dimension& along) {
  constexpr int64_t kBlock = 16, kFew = 8;
  if constexpr (std::is_same_v<T, uint32_t>) {
    if (along.size == 3 && across.y_stride == 3) {
      const int64_t done = interleave(x, along.x_stride, y, across.size);
      x += done;
      y += done * across.y_stride;
      across.size -= done;
    }
  }
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
  // Drops dimensions of one element, and merges neighbours that are contiguous in both arrays.
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
  // Moves the axis contiguous in x to the second-last place, if the last one is contiguous in y
  // only.
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
