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

template <typename T>
void copy(const T* x, T* y, const Dimension* dimensions, int rank) {
  if (rank == 1) return copy_line(x, y, dimensions[0]);
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
