#include "pippin/engine/steps/place_pointers.h"

#include <algorithm>

namespace pippin::engine {

using kernels::kConvPlaces;

bool has_channels_last(const View& view) {
  return view.rank() > 2 && view.strides[1] == mil::Dim(1) && !(view.shape[1] == mil::Dim(1));
}

PlacePointers::PlacePointers(const Windows& windows, const Operand& x, const Operand& y)
    : windows_(windows), x_(x), y_(y), taps_(num_taps(windows)) {
  for (size_t i = 0; i < kSpatialAxes; ++i) {
    start_[i] = windows[i].start(x.shape[i + 2], y.shape[i + 2]);
    reach_[i] = *std::max_element(windows[i].taps.begin(), windows[i].taps.end());
  }
}

void PlacePointers::write_offsets(int64_t* offsets) const noexcept {
  for (const int64_t d : windows_[0].taps) {
    for (const int64_t h : windows_[1].taps) {
      for (const int64_t w : windows_[2].taps) {
        *offsets++ = d * x_.strides[2] + h * x_.strides[3] + w * x_.strides[4];
      }
    }
  }
}

// A place whose window begins at `start` and may reach out of x.
void PlacePointers::write_edge(int64_t batch, const std::array<int64_t, kSpatialAxes>& start,
                               int64_t channel, const float* outside,
                               const float** pointers) const noexcept {
  const auto is_inside = [&](size_t axis, int64_t i) { return i >= 0 && i < x_.shape[axis + 2]; };
  const int64_t base = batch * x_.strides[0] + channel * x_.strides[1];
  for (const int64_t tap_d : windows_[0].taps) {
    for (const int64_t tap_h : windows_[1].taps) {
      const int64_t d = start[0] + tap_d, h = start[1] + tap_h;
      const bool row = is_inside(0, d) && is_inside(1, h);
      const int64_t from = base + d * x_.strides[2] + h * x_.strides[3];
      for (const int64_t tap_w : windows_[2].taps) {
        const int64_t w = start[2] + tap_w;
        *pointers = row && is_inside(2, w) ? x_.floats() + from + w * x_.strides[4] : outside;
        pointers += kConvPlaces;
      }
    }
  }
}

// A tile of one row that sees nothing but x, from its first place's first element on.
void PlacePointers::write_row(const float* base, int64_t step, const int64_t* offsets,
                              const float** pointers) const noexcept {
  const float* from[kConvPlaces];
  for (int64_t i = 0; i < kConvPlaces; ++i) from[i] = base + i * step;
  for (int64_t tap = 0; tap < taps_; ++tap, pointers += kConvPlaces) {
    const int64_t offset = offsets[tap];
#pragma GCC unroll 6
    for (int64_t i = 0; i < kConvPlaces; ++i) pointers[i] = from[i] + offset;
  }
}

void PlacePointers::write(int64_t first, int64_t count, int64_t channel, const float* outside,
                          int64_t* offsets, const float** pointers) const noexcept {
  write_offsets(offsets);
  const int64_t width = y_.shape[4], height = y_.shape[3], depth = y_.shape[2];
  const int64_t step = windows_[2].stride * x_.strides[4];
  int64_t column = first % width, row = first / width % height;
  int64_t slice = first / width / height % depth, batch = first / width / height / depth;
  std::array<int64_t, kSpatialAxes> start;
  const auto is_inside = [&](size_t axis, int64_t more) {
    return start[axis] >= 0 && start[axis] + more + reach_[axis] < x_.shape[axis + 2];
  };
  for (int64_t done = 0; done < count; done += kConvPlaces, pointers += taps_ * kConvPlaces) {
    const int64_t some = std::min(kConvPlaces, count - done);
    for (int64_t i = 0; i < some;) {
      start = {slice * windows_[0].stride + start_[0], row * windows_[1].stride + start_[1],
               column * windows_[2].stride + start_[2]};
      const bool inside = some == kConvPlaces && i == 0 && column + kConvPlaces <= width &&
                          is_inside(0, 0) && is_inside(1, 0) &&
                          is_inside(2, (kConvPlaces - 1) * windows_[2].stride);
      if (inside) {
        const float* base = x_.floats() + batch * x_.strides[0] + channel * x_.strides[1] +
                            start[0] * x_.strides[2] + start[1] * x_.strides[3] +
                            start[2] * x_.strides[4];
        write_row(base, step, offsets, pointers);
      } else {
        write_edge(batch, start, channel, outside, pointers + i);
      }
      i += inside ? kConvPlaces : 1;
      column += inside ? kConvPlaces : 1;
      if (column < width) continue;
      column = 0;
      if (++row < height) continue;
      row = 0;
      if (++slice < depth) continue;
      slice = 0;
      ++batch;
    }
    for (int64_t i = some; i < kConvPlaces; ++i) {
      for (int64_t tap = 0; tap < taps_; ++tap) {
        pointers[tap * kConvPlaces + i] = pointers[tap * kConvPlaces + some - 1];
      }
    }
  }
}

}  // namespace pippin::engine
