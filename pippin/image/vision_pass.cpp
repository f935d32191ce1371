#include "pippin/image/vision_pass.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pippin::image {

VisionShape one_tile(const VisionShape& shape) {
  VisionShape one = shape;
  if (one.sizes.empty() && !one.pixels.empty()) one.pixels.front() = 1;
  return one;
}

std::optional<VisionPasses> passes_of_shape(VisionPasses passes, const VisionShape& shape) {
  int64_t numbers = 1;
  for (const int64_t dim : shape.pixels) numbers *= dim;
  std::vector<VisionPass> divided;
  divided.reserve(passes.passes.size());
  for (const VisionPass& pass : passes.passes) {
    const bool is_whole = pass.shape == shape;
    if (!is_whole && one_tile(pass.shape) != shape) return std::nullopt;
    // The rows of a pass are those of its tiles in order, so their indices stay the same.
    const int64_t tiles = is_whole ? 1 : pass.shape.pixels.front();
    for (int64_t tile = 0; tile < tiles; ++tile) {
      divided.push_back({shape, pass.first + tile * numbers, pass.further, pass.integers});
    }
  }
  passes.passes = std::move(divided);
  return passes;
}

std::string to_string(const VisionShape& shape) {
  std::string text = fmt::format("({})", fmt::join(shape.pixels, ", "));
  if (!shape.sizes.empty()) text += fmt::format(" of {}", fmt::join(shape.sizes, "x"));
  return text;
}

}  // namespace pippin::image
