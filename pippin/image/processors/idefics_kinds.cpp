// Idefics 2, Idefics 3 and SmolVLM.
#include <algorithm>
#include <cmath>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/sizes.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

// Returns the side that keeps the ratio, truncated like Python's int().
int64_t other_side(int64_t side, double ratio, bool is_height) {
  const auto exact = static_cast<double>(side);
  return static_cast<int64_t>(is_height ? exact / ratio : exact * ratio);
}

int64_t even(int64_t side) {
  return std::max<int64_t>(side + side % 2, 1);
}

// The longest side becomes `longest` pixels, the other even.
Size by_longest_edge(Size size, int64_t longest) {
  const double ratio = ratio_of(size);
  Size result = size.width >= size.height ? Size{even(other_side(longest, ratio, true)), longest}
                                          : Size{longest, even(other_side(longest, ratio, false))};
  constexpr int64_t kMostSide = 4096;
  if (std::max(result.height, result.width) <= kMostSide) return result;
  const double new_ratio = ratio_of(result);
  result = result.width >= result.height ? Size{other_side(kMostSide, new_ratio, true), kMostSide}
                                         : Size{kMostSide, other_side(kMostSide, new_ratio, false)};
  return {std::max<int64_t>(result.height, 1), std::max<int64_t>(result.width, 1)};
}

int64_t multiple_above(int64_t side, int64_t step) {
  return (side + step - 1) / step * step;
}

// Tiles, and the whole picture as the last one.
class Idefics3Kind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const Picture first = resized(picture, by_longest_edge(size_of(picture), longest_), pixels_);
    const Size tile{tile_, tile_};
    std::vector<Picture> tiles;
    Grid grid;
    if (split_) {
      const double ratio = ratio_of(size_of(first));
      Size size;
      if (first.width >= first.height) {
        size.width = multiple_above(first.width, tile_);
        size.height = multiple_above(other_side(size.width, ratio, true), tile_);
      } else {
        size.height = multiple_above(first.height, tile_);
        size.width = multiple_above(other_side(size.height, ratio, false), tile_);
      }
      size = {std::max(size.height, tile_), std::max(size.width, tile_)};
      const Picture multiple = resampled(first, size, pixels_.filter, pixels_.backend);
      if (size != tile) {
        tiles = tiles_of(multiple, tile);
        grid = {size.width / tile_, size.height / tile_};
      }
      tiles.push_back(resampled(multiple, tile, pixels_.filter, pixels_.backend));
    } else {
      tiles.push_back(resampled(first, tile, pixels_.filter, pixels_.backend));
    }
    ImageInputs inputs;
    inputs.sizes["rows"] = row_of({grid.rows});
    inputs.sizes["cols"] = row_of({grid.columns});
    IntArray& mask = inputs.sizes["pixel_attention_mask"];
    mask.shape = {1, static_cast<int64_t>(tiles.size()), tile_, tile_};
    mask.values.assign(tiles.size() * static_cast<size_t>(tile_ * tile_), 1);
    inputs.pixel_values = stacked(tiles, pixels_, {1});
    return inputs;
  }
  bool is_over_white() const override { return true; }

  PixelOptions pixels_;
  int64_t longest_ = 0, tile_ = 0;
  bool split_ = true;
};

// Each frame is a tile.
class SmolVideoKind : public Idefics3Kind {
 public:
  ImageInputs process_video(const Video& video, double fps) const override {
    const double wanted = fps > 0 ? fps : fps_;
    const double given = video.fps > 0 ? video.fps : wanted;
    const auto total = std::ssize(video.frames);
    ImageInputs inputs;
    inputs.seconds = static_cast<double>(total) / given;
    std::vector<Picture> tiles;
    for (const int64_t index : choose(total, given, wanted, inputs.seconds)) {
      const Picture& frame = video.frames[static_cast<size_t>(index)];
      const Picture first = resized(frame, by_longest_edge(size_of(frame), longest_), pixels_);
      tiles.push_back(resampled(first, {tile_, tile_}, pixels_.filter, pixels_.backend));
      inputs.times.push_back(static_cast<double>(index) / given);
    }
    inputs.seconds_per_patch = inputs.seconds / static_cast<double>(tiles.size());
    inputs.pixel_values = stacked(tiles, pixels_, {1});
    return inputs;
  }

  double fps_ = 1;
  int64_t most_frames_ = 64;

 private:
  // The indices of frames, without the first and the last second of a long video.
  std::vector<int64_t> choose(int64_t total, double given, double wanted, double seconds) const {
    const int64_t count = std::clamp<int64_t>(rounded_to_even(wanted * seconds), 1, most_frames_);
    int64_t first = 0, last = total - 1;
    if (seconds - 2 > static_cast<double>(most_frames_) * wanted) {
      first = static_cast<int64_t>(given);
      last = std::min(static_cast<int64_t>(static_cast<double>(total) - given), total - 1);
      if (first >= last) {
        first = 0;
        last = total - 1;
      }
    }
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = count == 1 ? first : first + i * (last - first) / (count - 1);
      if (indices.empty() || indices.back() != index) indices.push_back(index);
    }
    return indices;
  }
};

// At most `longest` pixels, and at least `shortest`; four quarters and the whole when splitting.
class Idefics2Kind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    std::vector<Picture> parts;
    if (split_) {
      const int64_t height = picture.height / 2, width = picture.width / 2;
      if (height == 0 || width == 0) {
        fail(ErrorCode::InvalidArgument, "a picture of {} x {} pixels cannot be split",
             picture.width, picture.height);
      }
      const int64_t lower = picture.height - height, right = picture.width - width;
      parts.push_back(cropped(picture, {0, 0, {height, width}}));
      parts.push_back(cropped(picture, {0, width, {height, right}}));
      parts.push_back(cropped(picture, {height, 0, {lower, width}}));
      parts.push_back(cropped(picture, {height, width, {lower, right}}));
    }
    parts.push_back(picture);
    std::vector<FloatArray> planes;
    planes.reserve(parts.size());
    Size most;
    for (const Picture& part : parts) {
      const Picture sized = resized(part, target(size_of(part)), pixels_);
      most = {std::max(most.height, sized.height), std::max(most.width, sized.width)};
      planes.push_back(float_pixels(sized, pixels_));
    }
    ImageInputs inputs;
    const auto count = static_cast<int64_t>(parts.size());
    inputs.pixel_values.shape = {1, count, 3, most.height, most.width};
    IntArray& mask = inputs.sizes["pixel_attention_mask"];
    mask.shape = {1, count, most.height, most.width};
    for (const FloatArray& part : planes) {
      const FloatArray whole = zero_padded(part, most);
      inputs.pixel_values.values.insert(inputs.pixel_values.values.end(), whole.values.begin(),
                                        whole.values.end());
      const IntArray own = mask_of({part.shape[1], part.shape[2]}, most);
      mask.values.insert(mask.values.end(), own.values.begin(), own.values.end());
    }
    return inputs;
  }
  bool is_over_white() const override { return true; }

  PixelOptions pixels_;
  int64_t shortest_ = 0, longest_ = 0;
  bool split_ = false;

 private:
  Size target(Size size) const {
    const double ratio = ratio_of(size);
    if (size.width >= size.height && size.width > longest_) {
      size = {other_side(longest_, ratio, true), longest_};
    } else if (size.height > size.width && size.height > longest_) {
      size = {longest_, other_side(longest_, ratio, false)};
    }
    return {std::max(size.height, shortest_), std::max(size.width, shortest_)};
  }
};

}  // namespace

namespace {

void read_tiles(ProcessorConfig& config, int64_t longest, Idefics3Kind& kind) {
  kind.pixels_ = config.pixels(Filter::Lanczos, kHalf, kHalf);
  kind.longest_ = config.longest_edge("size", longest);
  kind.tile_ = config.longest_edge("max_image_size", 364);
  // A picture of the longest side of a tile has at most this number of tiles, squared.
  constexpr int64_t kMostTilesOfSide = 16;
  if (kind.longest_ > kMostTilesOfSide * kind.tile_) {
    config.unsupported("size", fmt::format("more than {} tiles per side", kMostTilesOfSide));
  }
  kind.split_ = config.flag("do_image_splitting", true);
  // All tiles have the same size.
  config.flag("do_pad", true);
  config.ignore("video_sampling");
}

}  // namespace

std::shared_ptr<ImageKind> read_idefics3(ProcessorConfig& config) {
  auto kind = std::make_shared<Idefics3Kind>();
  read_tiles(config, 4 * 364, *kind);
  return kind;
}

std::shared_ptr<ImageKind> read_smolvlm_video(ProcessorConfig& config) {
  auto kind = std::make_shared<SmolVideoKind>();
  int64_t longest = 4 * 364;
  if (const auto sampling = config.json().find("video_sampling")) {
    constexpr int64_t kMostNamed = 999;  // frames whose number the prompt can spell
    if (const auto fps = sampling->find("fps")) kind->fps_ = fps->as_float();
    if (const auto most = sampling->find("max_frames")) {
      kind->most_frames_ = most->as_int(1, kMostNamed);
    }
    if (const auto size = sampling->find("video_size")) {
      longest = size->get_int_or("longest_edge", longest);
    }
  }
  if (!(kind->fps_ >= 1e-3 && kind->fps_ <= 1e3)) {
    config.invalid("video_sampling", fmt::format("{} frames per second", kind->fps_));
  }
  config.ignore("do_sample_frames");
  read_tiles(config, longest, *kind);
  // transformers has no Lanczos filter for videos.
  kind->pixels_.backend = Backend::Torchvision;
  if (kind->pixels_.filter == Filter::Lanczos) kind->pixels_.filter = Filter::Bicubic;
  return kind;
}

std::shared_ptr<ImageKind> read_idefics2(ProcessorConfig& config) {
  auto kind = std::make_shared<Idefics2Kind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kHalf, kHalf);
  const SizeRule rule = config.size("size", {.shortest = 378, .longest = 980});
  constexpr int64_t kMost = 1 << 13;
  if (rule.shortest == 0 || rule.longest < rule.shortest || rule.longest > kMost) {
    config.invalid("size", fmt::format("expected shortest_edge <= longest_edge <= {}", kMost));
  }
  kind->shortest_ = rule.shortest;
  kind->longest_ = rule.longest;
  kind->split_ = config.flag("do_image_splitting", false);
  config.require_flag("do_pad", true);
  return kind;
}

}  // namespace pippin::image
