#include "pippin/nn/vision/grid_resize.h"

#include <algorithm>
#include <cmath>

namespace pippin::nn {
namespace {

// The weight of a number at a distance.
double resize_weight(GridResizing::Kind kind, double distance, double a) {
  const double x = std::abs(distance);
  if (kind == GridResizing::Kind::Bilinear) return std::max(0.0, 1 - x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * a - 4 * a;
  return 0;
}

ResizeTaps taps_of(int64_t place, int64_t from, int64_t to, const GridResizing& resizing) {
  const auto steps = [](int64_t count) { return static_cast<double>(count); };
  const bool is_cubic = resizing.kind == GridResizing::Kind::Bicubic;
  double scale = steps(from) / steps(to);
  double center = (steps(place) + 0.5) * scale - 0.5;
  if (resizing.align_corners) {
    scale = to > 1 ? steps(from - 1) / steps(to - 1) : 0;
    center = steps(place) * scale;
  } else if (!is_cubic && !resizing.antialias) {
    center = std::max(center, 0.0);
  }
  ResizeTaps taps;
  const double reach = is_cubic ? 2 : 1;
  if (resizing.antialias) {
    // Places outside the grid do not count. PyTorch's kernel has another constant here.
    constexpr double kAntialiasedA = -0.5;
    const double stretch = std::max(scale, 1.0), middle = center + 0.5;
    const auto rounded = [](double x) { return static_cast<int64_t>(std::floor(x + 0.5)); };
    const int64_t begin = std::max<int64_t>(0, rounded(middle - reach * stretch));
    const int64_t end = std::min<int64_t>(from, rounded(middle + reach * stretch));
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
      const double weight =
          resize_weight(resizing.kind, (steps(i) - center) / stretch, kAntialiasedA);
      taps.places.push_back(i);
      taps.weights.push_back(weight);
      sum += weight;
    }
    for (double& weight : taps.weights) weight /= sum;
    return taps;
  }
  // Places outside the grid are those of its edge.
  constexpr double kA = -0.75;
  const auto whole = static_cast<int64_t>(std::floor(center));
  const int64_t before = is_cubic ? 1 : 0, after = is_cubic ? 2 : 1;
  for (int64_t i = whole - before; i <= whole + after; ++i) {
    taps.places.push_back(std::clamp<int64_t>(i, 0, from - 1));
    taps.weights.push_back(resize_weight(resizing.kind, center - steps(i), kA));
  }
  return taps;
}

}  // namespace

std::vector<ResizeTaps> resize_axis(int64_t from, int64_t to, const GridResizing& resizing) {
  std::vector<ResizeTaps> taps;
  taps.reserve(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) taps.push_back(taps_of(i, from, to, resizing));
  return taps;
}

std::vector<double> resize_grid(const std::vector<double>& rows, int64_t features, Grid from,
                                Grid to, const GridResizing& resizing) {
  if (from == to) return rows;
  const auto width = static_cast<size_t>(features);
  const std::vector<ResizeTaps> columns = resize_axis(from.width, to.width, resizing);
  const std::vector<ResizeTaps> lines = resize_axis(from.height, to.height, resizing);
  const auto row_at = [width](const std::vector<double>& all, int64_t index) {
    return all.data() + static_cast<size_t>(index) * width;
  };
  const auto add = [&](const ResizeTaps& taps, const std::vector<double>& all, int64_t first,
                       int64_t step, double* sum) {
    for (size_t i = 0; i < taps.places.size(); ++i) {
      const double* const row = row_at(all, first + taps.places[i] * step);
      for (size_t k = 0; k < width; ++k) sum[k] += taps.weights[i] * row[k];
    }
  };
  std::vector<double> narrowed(static_cast<size_t>(from.height * to.width) * width);
  for (int64_t y = 0; y < from.height; ++y) {
    for (int64_t x = 0; x < to.width; ++x) {
      double* const sum = narrowed.data() + static_cast<size_t>(y * to.width + x) * width;
      add(columns[static_cast<size_t>(x)], rows, y * from.width, 1, sum);
    }
  }
  std::vector<double> result(static_cast<size_t>(to.count()) * width);
  for (int64_t y = 0; y < to.height; ++y) {
    for (int64_t x = 0; x < to.width; ++x) {
      double* const sum = result.data() + static_cast<size_t>(y * to.width + x) * width;
      add(lines[static_cast<size_t>(y)], narrowed, x, to.width, sum);
    }
  }
  return result;
}

}  // namespace pippin::nn
