// Processors with a list of resolutions, of which the picture takes the best: LLaVA-NeXT,
// LLaVA-OneVision and Aria.
#include <algorithm>

#include "pippin/image/processors/frame_choice.h"
#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

// The picture in the middle of the best resolution.
Picture fitted(const Picture& picture, const std::vector<Size>& resolutions,
               const PixelOptions& options) {
  const Size space = best_resolution(size_of(picture), resolutions);
  const Picture inner = resampled(picture, size_within(size_of(picture), space, true),
                                  options.filter, options.backend);
  return placed(inner, space, (space.height - inner.height) / 2, (space.width - inner.width) / 2,
                {});
}

// The whole picture as one tile, then the tiles of the best resolution.
class PinpointKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    std::vector<Picture> tiles = tiles_of(fitted(picture, resolutions_, pixels_), tile_);
    tiles.insert(tiles.begin(), resampled(picture, tile_, pixels_.filter, pixels_.backend));
    ImageInputs inputs;
    inputs.pixel_values = stacked(tiles, pixels_, {1});
    inputs.sizes["image_sizes"] = row_of({picture.height, picture.width});
    if (with_count_) inputs.sizes["batch_num_images"] = list_of({1});
    return inputs;
  }

  PixelOptions pixels_;
  Size tile_;
  std::vector<Size> resolutions_;
  bool with_count_ = false;
};

void check_resolutions(const ProcessorConfig& config, const PinpointKind& kind) {
  for (const Size& size : kind.resolutions_) {
    if (size.height % kind.tile_.height != 0 || size.width % kind.tile_.width != 0) {
      config.invalid("image_grid_pinpoints",
                     fmt::format("{} x {} is not a multiple of the tile of {} x {}", size.height,
                                 size.width, kind.tile_.height, kind.tile_.width));
    }
  }
}

std::vector<Size> grid_resolutions(int64_t side, int64_t most) {
  std::vector<Size> sizes;
  sizes.reserve(static_cast<size_t>(most * most));
  for (int64_t rows = 1; rows <= most; ++rows) {
    for (int64_t columns = 1; columns <= most; ++columns) {
      sizes.push_back({side * rows, side * columns});
    }
  }
  return sizes;
}

}  // namespace

std::shared_ptr<ImageKind> read_llava_next(ProcessorConfig& config) {
  auto kind = std::make_shared<PinpointKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kClipMean, kClipStd);
  kind->tile_ = config.fixed_size("size", {224, 224});
  // Tiles have the size already, so that neither resizing nor cropping changes them.
  const bool crop = config.flag("do_center_crop", true);
  if (config.fixed_size("crop_size", {224, 224}) != kind->tile_ && crop) {
    config.unsupported("crop_size", "another size than that of tiles");
  }
  config.flag("do_pad", true);
  kind->resolutions_ = config.sizes("image_grid_pinpoints",
                                    {{336, 672}, {672, 336}, {672, 672}, {1008, 336}, {336, 1008}});
  check_resolutions(config, *kind);
  return kind;
}

std::shared_ptr<ImageKind> read_llava_onevision(ProcessorConfig& config) {
  auto kind = std::make_shared<PinpointKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kClipMean, kClipStd);
  kind->tile_ = config.fixed_size("size", {384, 384});
  config.require_flag("do_center_crop", false);
  config.flag("do_pad", true);
  kind->resolutions_ = config.sizes("image_grid_pinpoints", grid_resolutions(384, 6));
  kind->with_count_ = true;
  check_resolutions(config, *kind);
  return kind;
}

namespace {

// Each frame of a video as a tile.
class FrameKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    return stacked_frames({resampled(picture, size_, pixels_.filter, pixels_.backend)});
  }
  ImageInputs process_video(const Video& video, double fps) const override {
    const ChosenFrames chosen = choose_frames(video, choice_, fps);
    std::vector<Picture> frames;
    frames.reserve(chosen.indices.size());
    for (const int64_t index : chosen.indices) {
      const Picture& frame = video.frames[static_cast<size_t>(index)];
      frames.push_back(resampled(frame, size_, pixels_.filter, pixels_.backend));
    }
    ImageInputs inputs = stacked_frames(frames);
    inputs.times = chosen.times;
    inputs.seconds = chosen.seconds;
    inputs.seconds_per_patch = chosen.seconds / static_cast<double>(chosen.times.size());
    return inputs;
  }

  PixelOptions pixels_;
  Size size_;
  FrameChoice choice_;

 private:
  ImageInputs stacked_frames(const std::vector<Picture>& frames) const {
    ImageInputs inputs;
    inputs.pixel_values = stacked(frames, pixels_, {1});
    return inputs;
  }
};

}  // namespace

std::shared_ptr<ImageKind> read_llava_onevision_video(ProcessorConfig& config) {
  auto kind = std::make_shared<FrameKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kClipMean, kClipStd);
  kind->size_ = config.fixed_size("size", {384, 384});
  config.require_flag("do_center_crop", false);
  config.flag("do_pad", true);
  kind->choice_ = read_frame_choice(config, 0);
  return kind;
}

namespace {

// The longest side has `most` pixels, the other at least `least`, above and left of zeros.
class AriaKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    std::vector<Picture> parts;
    if (split_) {
      parts = tiles_of(fitted(picture, resolutions_, pixels_), {most_, most_});
    } else {
      parts.push_back(picture);
    }
    ImageInputs inputs;
    std::vector<Picture> tiles;
    tiles.reserve(parts.size());
    IntArray& mask = inputs.sizes["pixel_mask"];
    for (const Picture& part : parts) {
      const double scale =
          static_cast<double>(most_) / static_cast<double>(std::max(part.height, part.width));
      const auto side = [&](int64_t length) {
        return std::max(static_cast<int64_t>(static_cast<double>(length) * scale), least_);
      };
      const Size size = part.width >= part.height ? Size{side(part.height), most_}
                                                  : Size{most_, side(part.width)};
      tiles.push_back(
          placed(resampled(part, size, pixels_.filter, pixels_.backend), {most_, most_}, 0, 0, {}));
      const IntArray own = mask_of(size, {most_, most_});
      mask.values.insert(mask.values.end(), own.values.begin(), own.values.end());
    }
    const auto count = static_cast<int64_t>(parts.size());
    mask.shape = {count, most_, most_};
    inputs.sizes["num_crops"] = {{}, {count}};
    inputs.pixel_values = stacked(tiles, pixels_);
    return inputs;
  }

  PixelOptions pixels_;
  int64_t least_ = 0, most_ = 0;
  bool split_ = false;
  std::vector<Size> resolutions_;
};

}  // namespace

std::shared_ptr<ImageKind> read_aria(ProcessorConfig& config) {
  auto kind = std::make_shared<AriaKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kHalf, kHalf);
  kind->most_ = config.integer("max_image_size", 980, 1, 1 << 12);
  kind->least_ = config.integer("min_image_size", 336, 1, kind->most_);
  kind->split_ = config.flag("split_image", false);
  std::vector<Size> resolutions;
  for (const Grid& grid : grids_between(2, 8)) {
    resolutions.push_back({grid.rows * kind->most_, grid.columns * kind->most_});
  }
  kind->resolutions_ = config.sizes("split_resolutions", std::move(resolutions));
  for (const Size& size : kind->resolutions_) {
    if (kind->split_ && (size.height % kind->most_ != 0 || size.width % kind->most_ != 0)) {
      config.unsupported("split_resolutions", fmt::format("{} x {} with tiles of {}", size.height,
                                                          size.width, kind->most_));
    }
  }
  return kind;
}

}  // namespace pippin::image
