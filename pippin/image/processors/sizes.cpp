#include "pippin/image/processors/sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pippin/base/error.h"

namespace pippin::image {
namespace {

// Computes like Python, whose / of integers gives a double and whose int() truncates.
double real(int64_t value) {
  return static_cast<double>(value);
}

int64_t scaled(int64_t edge, int64_t length, int64_t short_length) {
  return static_cast<int64_t>(real(edge * length) / real(short_length));
}

Size by_shortest_edge(Size size, int64_t edge) {
  if (size.width <= size.height) return {scaled(edge, size.height, size.width), edge};
  return {edge, scaled(edge, size.width, size.height)};
}

// DETR's rule.
Size by_both_edges(Size size, int64_t edge, int64_t longest) {
  const double least = real(std::min(size.height, size.width));
  const double most = real(std::max(size.height, size.width));
  double exact = real(edge);
  if (most / least * real(edge) > real(longest)) {
    exact = real(longest) * least / most;
    edge = rounded_to_even(exact);
  }
  if ((size.height <= size.width && size.height == edge) ||
      (size.width <= size.height && size.width == edge)) {
    return size;
  }
  if (size.width < size.height) {
    return {static_cast<int64_t>(exact * real(size.height) / real(size.width)), edge};
  }
  return {edge, static_cast<int64_t>(exact * real(size.width) / real(size.height))};
}

}  // namespace

int64_t rounded_to_even(double value) {
  return std::llrint(value);
}

double ratio_of(Size size) {
  return real(size.width) / real(size.height);
}

Size target_size(Size size, const SizeRule& rule) {
  Size target;
  if (rule.shortest != 0 && rule.longest != 0) {
    target = by_both_edges(size, rule.shortest, rule.longest);
  } else if (rule.shortest != 0) {
    target = by_shortest_edge(size, rule.shortest);
  } else if (rule.max_height != 0 && rule.max_width != 0) {
    const double scale = std::min(real(rule.max_height) / real(size.height),
                                  real(rule.max_width) / real(size.width));
    target = {static_cast<int64_t>(real(size.height) * scale),
              static_cast<int64_t>(real(size.width) * scale)};
  } else if (rule.height != 0 && rule.width != 0) {
    target = {rule.height, rule.width};
  } else {
    fail(ErrorCode::InvalidArgument,
         "size has neither height and width nor shortest_edge nor max_height and max_width");
  }
  return {std::max<int64_t>(target.height, 1), std::max<int64_t>(target.width, 1)};
}

Size smart_size(Size size, int64_t factor, int64_t least, int64_t most, int64_t frames,
                int64_t whole_frames) {
  constexpr double kLargestRatio = 200;
  const double height = real(size.height), width = real(size.width), step = real(factor);
  if (std::max(height, width) / std::min(height, width) > kLargestRatio) {
    fail(ErrorCode::InvalidArgument, "a picture of {} x {} pixels: the ratio is above {}",
         size.width, size.height, kLargestRatio);
  }
  const auto multiple = [&](double value) { return rounded_to_even(value / step) * factor; };
  Size result{multiple(height), multiple(width)};
  const double area = height * width * real(frames);
  const int64_t rounded_area =
      result.height * result.width * (whole_frames > 0 ? whole_frames : frames);
  if (rounded_area > most) {
    const double shrink = std::sqrt(area / real(most));
    const auto below = [&](double side) {
      return std::max(factor, static_cast<int64_t>(std::floor(side / shrink / step)) * factor);
    };
    result = {below(height), below(width)};
  } else if (rounded_area < least) {
    const double stretch = std::sqrt(real(least) / area);
    const auto above = [&](double side) {
      return static_cast<int64_t>(std::ceil(side * stretch / step)) * factor;
    };
    result = {above(height), above(width)};
  }
  return result;
}

std::vector<Grid> grids_between(int64_t least, int64_t most) {
  std::vector<Grid> grids;
  for (int64_t columns = 1; columns <= most; ++columns) {
    for (int64_t rows = 1; rows <= most / columns; ++rows) {
      if (columns * rows >= least) grids.push_back({columns, rows});
    }
  }
  std::stable_sort(grids.begin(), grids.end(),
                   [](const Grid& a, const Grid& b) { return a.count() < b.count(); });
  return grids;
}

Grid closest_grid(Size size, Size tile, const std::vector<Grid>& grids) {
  Grid best{1, 1};
  double least = std::numeric_limits<double>::infinity();
  for (const Grid& grid : grids) {
    const double difference = std::abs(ratio_of(size) - real(grid.columns) / real(grid.rows));
    const double tiles = real(tile.height) * real(tile.width) * real(grid.count());
    if (difference < least ||
        (difference == least && real(size.width * size.height) > 0.5 * tiles)) {
      best = grid;
    }
    least = std::min(least, difference);
  }
  return best;
}

Size size_within(Size size, Size space, bool round_up) {
  const double x_scale = real(space.width) / real(size.width);
  const double y_scale = real(space.height) / real(size.height);
  const auto side = [&](double exact, int64_t most) {
    const double rounded = round_up ? std::ceil(exact) : std::floor(exact);
    return std::clamp<int64_t>(static_cast<int64_t>(rounded), 1, most);
  };
  if (x_scale < y_scale) return {side(real(size.height) * x_scale, space.height), space.width};
  return {space.height, side(real(size.width) * y_scale, space.width)};
}

Size best_resolution(Size size, const std::vector<Size>& resolutions) {
  Size best;
  int64_t most_used = 0, least_wasted = std::numeric_limits<int64_t>::max();
  for (const Size& space : resolutions) {
    const double scale =
        std::min(real(space.width) / real(size.width), real(space.height) / real(size.height));
    const auto width = static_cast<int64_t>(real(size.width) * scale);
    const auto height = static_cast<int64_t>(real(size.height) * scale);
    const int64_t used = std::min(width * height, size.width * size.height);
    const int64_t wasted = space.width * space.height - used;
    if (used > most_used || (used == most_used && wasted < least_wasted)) {
      most_used = used;
      least_wasted = wasted;
      best = space;
    }
  }
  return best.height == 0 ? resolutions.at(0) : best;
}

}  // namespace pippin::image
