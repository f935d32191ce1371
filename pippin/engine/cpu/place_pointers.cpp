#include "pippin/engine/cpu/place_pointers.h"

#include <algorithm>

#include "pippin/base/numbers/checked.h"

namespace pippin::engine {

using kernels::kConvPlaces;

PlacePointers::PlacePointers(const Windows& windows, const Operand& x, const Operand& y)
    : windows_(windows), x_(x), y_(y), taps_(num_taps(windows)) {
  for (size_t i = 0; i < kSpatialAxes; ++i) {
    start_[i] = windows[i].start(x.shape[i + 2], y.shape[i + 2]);
    reach_[i] = *std::max_element(windows[i].taps.begin(), windows[i].taps.end());
  }
  constexpr size_t kColumns = kSpatialAxes - 1;
  const int64_t stride = windows[kColumns].stride;
  const int64_t last = x.shape[4] - 1 - reach_[kColumns] - start_[kColumns];
  const std::vector<int64_t>& taps = windows[kColumns].taps;
  together_ = 1;
  for (size_t i = 1; i < taps.size() && taps[i] == taps[i - 1] + stride; ++i) ++together_;
  if (together_ < static_cast<int64_t>(taps.size())) together_ = 1;
  step_ = stride * x.strides[4];
  inside_ = std::max<int64_t>(0, ceil_div(-start_[kColumns], stride));
  outside_ = last < 0 ? 0 : std::min(y.shape[4], last / stride + 1);
  is_one_row_ = is_pointwise(windows) && follows(3, 4) && follows(2, 3) && follows(0, 2);
  for (size_t i = 0; i < kSpatialAxes; ++i) {
    is_one_row_ = is_one_row_ && reach_[i] == 0 && x.shape[i + 2] == y.shape[i + 2];
  }
}

bool PlacePointers::follows(size_t axis, size_t inner) const {
  return x_.shape[axis] == 1 || x_.strides[axis] == x_.shape[inner] * x_.strides[inner];
}

bool PlacePointers::is_window_inside(size_t axis, int64_t start) const noexcept {
  return start >= 0 && start + reach_[axis] < x_.shape[axis + 2];
}

PlacePointers::Place PlacePointers::place(int64_t index) const noexcept {
  Place place{};
  for (size_t axis = kSpatialAxes; axis-- > 0; index /= y_.shape[axis + 2]) {
    place.start[axis] = index % y_.shape[axis + 2] * windows_[axis].stride + start_[axis];
  }
  place.batch = index;
  return place;
}

PlacePointers::Run PlacePointers::run(int64_t first, int64_t count) const noexcept {
  constexpr int64_t kLeast = 2 * kConvPlaces;  // places in a row that justify separate tiles
  if (is_one_row_ && step_ > 0) return {count, step_};
  if (outside_ - inside_ < kLeast || step_ <= 0) return {count, 0};
  const int64_t width = y_.shape[4], column = first % width;
  const auto is_inside_from = [&](int64_t index) {
    const Place at = place(index);
    return is_window_inside(0, at.start[0]) && is_window_inside(1, at.start[1]);
  };
  if (is_inside_from(first)) {
    if (column < inside_) return {std::min(count, inside_ - column), 0};
    if (column < outside_) return {std::min(count, outside_ - column), step_};
  }
  // The rest of the row, and the places before the next run.
  const int64_t rest = width - column;
  if (rest >= count) return {count, 0};
  return {std::min(count, rest + (is_inside_from(first + rest) ? inside_ : 0)), 0};
}

void PlacePointers::write_first(int64_t first, int64_t channel, int64_t* offsets,
                                const float** pointers) const noexcept {
  write_offsets(offsets);
  const float* base = element(place(first), channel);
  for (int64_t tap = 0; tap < taps_; ++tap) pointers[tap] = base + offsets[tap];
}

// The first element of x that a window inside x covers.
const float* PlacePointers::element(const Place& place, int64_t channel) const noexcept {
  return x_.floats() + place.batch * x_.strides[0] + channel * x_.strides[1] +
         place.start[0] * x_.strides[2] + place.start[1] * x_.strides[3] +
         place.start[2] * x_.strides[4];
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

// A place whose window begins at `start` and may extend beyond x.
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

// A tile of one row whose windows lie inside x, given the first element of its first place.
void PlacePointers::write_row(const float* base, const int64_t* offsets,
                              const float** pointers) const noexcept {
  const float* from[kConvPlaces];
  for (int64_t i = 0; i < kConvPlaces; ++i) from[i] = base + i * step_;
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
  int64_t column = first % width, row = first / width % height;
  int64_t slice = first / width / height % depth, batch = first / width / height / depth;
  std::array<int64_t, kSpatialAxes> start;
  for (int64_t done = 0; done < count; done += kConvPlaces, pointers += taps_ * kConvPlaces) {
    const int64_t some = std::min(kConvPlaces, count - done);
    for (int64_t i = 0; i < some;) {
      start = {slice * windows_[0].stride + start_[0], row * windows_[1].stride + start_[1],
               column * windows_[2].stride + start_[2]};
      const bool inside = some == kConvPlaces && i == 0 && column + kConvPlaces <= width &&
                          is_window_inside(0, start[0]) && is_window_inside(1, start[1]) &&
                          is_window_inside(2, start[2]) &&
                          is_window_inside(2, start[2] + (kConvPlaces - 1) * windows_[2].stride);
      if (inside) {
        write_row(element({batch, start}, channel), offsets, pointers);
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
