// LLaVA-NeXT and LLaVA-OneVision (Liu, Li et al. 2024): the whole image and tiles of it, whose rows
// are put together as the picture, without its padding, with a row at the end of each line.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/models/vision/llava.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/vision/patch_embedding.h"

namespace pippin::models::vision {
namespace {

constexpr const char* kNewline = "image_newline";

struct AnyResolution {
  LlavaTower llava;
  std::vector<nn::Grid> pinpoints;  // sizes in pixels
  // The most tiles whose rows are kept as they are; larger pictures are resized. 0: no limit.
  int64_t most_tiles = 0;

  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels) const;

 private:
  nn::Grid tiles_for(nn::Grid size) const;
  image::VisionRun joined(const Tiles& tiles, int64_t batch, nn::Grid size) const;
  image::VisionRun frames(const Tiles& tiles, int64_t batch) const;
};

// image_sizes of one image: height and width.
nn::Grid image_size_of(const image::ImageInputs& inputs) {
  const auto found = inputs.sizes.find("image_sizes");
  if (found == inputs.sizes.end() || found->second.values.size() != 2) {
    fail(ErrorCode::InvalidArgument, "image_sizes: the height and width of one image are expected");
  }
  const std::vector<int64_t>& sides = found->second.values;
  if (sides[0] < 1 || sides[1] < 1 || sides[0] > kMostPixels || sides[1] > kMostPixels) {
    fail(ErrorCode::InvalidArgument, "image_sizes: {}x{} is not between 1 and {} pixels a side",
         sides[0], sides[1], kMostPixels);
  }
  return {sides[0], sides[1]};
}

// The processor's choice: the pinpoint that keeps most of the image's pixels, then the smallest.
nn::Grid AnyResolution::tiles_for(nn::Grid size) const {
  nn::Grid best;
  int64_t most = 0, least_wasted = 0;
  for (const nn::Grid& pinpoint : pinpoints) {
    const auto share = [](int64_t a, int64_t b) {
      return static_cast<double>(a) / static_cast<double>(b);
    };
    const double scale =
        std::min(share(pinpoint.width, size.width), share(pinpoint.height, size.height));
    const auto scaled = [scale](int64_t side) {
      return static_cast<int64_t>(static_cast<double>(side) * scale);
    };
    const int64_t kept = std::min(scaled(size.width) * scaled(size.height), size.count());
    const int64_t wasted = pinpoint.count() - kept;
    if (kept > most || (kept == most && (best.count() == 0 || wasted < least_wasted))) {
      best = pinpoint;
      most = kept;
      least_wasted = wasted;
    }
  }
  const nn::Grid& tile = llava.tower.image;
  return {best.height / tile.height, best.width / tile.width};
}

// The lines of one side that padding leaves of `current`, for an image whose sides are `side` and,
// in the direction that is filled, `other`, of which `filled` are rows.
std::pair<int64_t, int64_t> without_padding(int64_t current, int64_t side, int64_t filled,
                                            int64_t other) {
  const double scale = static_cast<double>(filled) / static_cast<double>(other);
  constexpr double kDigits = 1e7;
  const double exact = std::round(static_cast<double>(side) * scale * kDigits) / kDigits;
  const int64_t padding = (current - static_cast<int64_t>(exact)) / 2;
  return {padding, current - padding};
}

image::VisionRun AnyResolution::joined(const Tiles& tiles, int64_t batch, nn::Grid size) const {
  const nn::Grid grid = llava.tower.net.grid, count = tiles_for(size);
  const int64_t rows = llava.rows();
  if (tiles.count != count.count() + 1) {
    fail(ErrorCode::InvalidArgument, "{} tiles of an image of {}x{} pixels, which has {}",
         tiles.count, size.height, size.width, count.count() + 1);
  }
  // Each pass has a newline after its rows.
  const auto row_of = [&](int64_t tile, int64_t row) { return tile * rows + row + tile / batch; };
  const int64_t newline = batch * rows;
  const nn::Grid all{count.height * grid.height, count.width * grid.width};
  std::pair<int64_t, int64_t> lines{0, all.height}, columns{0, all.width};
  if (size.width * all.height > all.width * size.height) {
    lines = without_padding(all.height, size.height, all.width, size.width);
  } else {
    columns = without_padding(all.width, size.width, all.height, size.height);
  }
  const nn::Grid left{lines.second - lines.first, columns.second - columns.first};
  nn::Grid result = left;
  if (most_tiles > 0) {
    const auto share = static_cast<double>(left.count()) /
                       static_cast<double>(most_tiles * grid.height * grid.height);
    constexpr double kTolerated = 1.1;
    const double ratio = std::sqrt(share);
    const auto shrunk = [ratio](int64_t side) {
      return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(side) / ratio));
    };
    if (ratio > kTolerated) result = {shrunk(left.height), shrunk(left.width)};
  }
  const nn::GridResizing bilinear;
  const auto down = nn::resize_axis(left.height, result.height, bilinear);
  const auto across = nn::resize_axis(left.width, result.width, bilinear);
  image::VisionRun run;
  const bool is_mixed = result != left;
  run.parts = is_mixed ? 4 : 1;
  const auto add = [&](int64_t row, double weight) {
    run.rows.push_back(row);
    if (is_mixed) run.weights.push_back(static_cast<float>(weight));
  };
  const auto add_whole = [&](int64_t row) {
    for (int64_t part = 0; part < run.parts; ++part) add(row, part == 0 ? 1 : 0);
  };
  const auto place = [&](int64_t y, int64_t x) {
    const int64_t line = y + lines.first, column = x + columns.first;
    const int64_t tile = 1 + line / grid.height * count.width + column / grid.width;
    return row_of(tile, line % grid.height * grid.width + column % grid.width);
  };
  for (int64_t i = 0; i < rows; ++i) add_whole(row_of(0, i));
  for (int64_t y = 0; y < result.height; ++y) {
    for (int64_t x = 0; x < result.width; ++x) {
      if (!is_mixed) {
        add(place(y, x), 1);
        continue;
      }
      const nn::ResizeTaps &v = down[static_cast<size_t>(y)], &h = across[static_cast<size_t>(x)];
      for (size_t i = 0; i < 4; ++i) {
        add(place(v.places[i / 2], h.places[i % 2]), v.weights[i / 2] * h.weights[i % 2]);
      }
    }
    add_whole(newline);
  }
  return run;
}

// The rows of each frame at half the resolution, and one row at the end of all.
image::VisionRun AnyResolution::frames(const Tiles& tiles, int64_t batch) const {
  const nn::Grid grid = llava.tower.net.grid;
  const nn::Grid half{(grid.height + 1) / 2, (grid.width + 1) / 2};
  const int64_t rows = llava.rows();
  const nn::GridResizing bilinear;
  const auto down = nn::resize_axis(grid.height, half.height, bilinear);
  const auto across = nn::resize_axis(grid.width, half.width, bilinear);
  image::VisionRun run;
  run.parts = 4;
  const auto count = static_cast<size_t>((tiles.count * half.count() + 1) * run.parts);
  run.rows.reserve(count);
  run.weights.reserve(count);
  for (int64_t frame = 0; frame < tiles.count; ++frame) {
    const int64_t first = frame * rows + frame / batch;
    for (const nn::ResizeTaps& v : down) {
      for (const nn::ResizeTaps& h : across) {
        for (size_t i = 0; i < 4; ++i) {
          run.rows.push_back(first + v.places[i / 2] * grid.width + h.places[i % 2]);
          run.weights.push_back(static_cast<float>(v.weights[i / 2] * h.weights[i % 2]));
        }
      }
    }
  }
  run.rows.insert(run.rows.end(), 4, batch * rows);
  run.weights.insert(run.weights.end(), {1, 0, 0, 0});
  return run;
}

image::VisionPasses AnyResolution::passes(const image::ImageInputs& inputs) const {
  const Tower& tower = llava.tower;
  const Tiles tiles =
      tiles_of(inputs, tower.net.patches.channels, tower.image.height, tower.image.width);
  image::VisionPasses passes{passes_over(tiles, tower.net.grid.count()), {}};
  const int64_t batch = passes.passes.front().shape.pixels.front();
  if (inputs.is_video()) {
    passes.runs = {frames(tiles, batch)};
  } else if (tiles.count == 1) {
    // The newline is the row after it.
    passes.runs = {run_of(0, llava.rows() + 1)};
  } else {
    passes.runs = {joined(tiles, batch, image_size_of(inputs))};
  }
  return passes;
}

array::Array AnyResolution::record(const nn::Parameters& parameters,
                                   const array::Array& pixels) const {
  constexpr std::string_view kBases[] = {"", "model"};
  const nn::Parameters at = part_with(parameters, kBases, kNewline);
  const array::Array rows = llava.record(parameters, pixels);
  const int64_t width = rows.dim(2).constant();
  const array::Array all = array::reshape(rows, {1, rows.dim(0) * rows.dim(1), width});
  const array::Array newline =
      nn::reshaped_weight(at.get(kNewline, {width}), kNewline, {1, 1, width});
  return array::concat({all, newline}, 1);
}

VisionDescription described_any_resolution(const Config& config, AnyResolution model) {
  const nn::Grid grid = model.llava.tower.net.grid;
  if (model.llava.rows() != grid.count()) {
    config.unsupported("vision_feature_select_strategy",
                       fmt::format("{} rows do not form a grid of {}x{} patches",
                                   model.llava.rows(), grid.height, grid.width));
  }
  const auto shared = std::make_shared<const AnyResolution>(std::move(model));
  VisionDescription description;
  description.unused = shared->llava.unused;
  description.passes = [shared](const image::ImageInputs& inputs) {
    return shared->passes(inputs);
  };
  description.record = [shared](const auto& parameters, const auto& pixels, const auto&) {
    return shared->record(parameters, pixels);
  };
  return description;
}

std::vector<nn::Grid> read_pinpoints(const Config& config, std::vector<nn::Grid> fallback,
                                     nn::Grid tile) {
  constexpr std::string_view kKey = "image_grid_pinpoints";
  constexpr size_t kMostPinpoints = 4096;
  const auto given = config.find(kKey);
  std::vector<nn::Grid> pinpoints = given ? std::vector<nn::Grid>() : std::move(fallback);
  if (given) {
    const auto elements = given->elements();
    if (elements.empty() || elements.size() > kMostPinpoints) {
      config.invalid(
          kKey, fmt::format("{} sizes, 1 to {} are possible", elements.size(), kMostPinpoints));
    }
    pinpoints.reserve(elements.size());
    for (const Json& element : elements) {
      const std::vector<int64_t> sides = element.as_ints();
      if (sides.size() != 2) config.invalid(kKey, "a size is not a height and a width");
      pinpoints.push_back({sides[0], sides[1]});
    }
  }
  for (const nn::Grid& size : pinpoints) {
    if (size.height < tile.height || size.width < tile.width || size.height > kMostPixels ||
        size.width > kMostPixels || size.height % tile.height != 0 ||
        size.width % tile.width != 0) {
      config.invalid(kKey, fmt::format("{}x{} pixels are not tiles of {}x{}", size.height,
                                       size.width, tile.height, tile.width));
    }
  }
  return pinpoints;
}

// "anyres_max_9": 9.
int64_t read_most_tiles(const Config& config) {
  constexpr std::string_view kKey = "vision_aspect_ratio", kPrefix = "anyres_max_";
  const std::string text = config.text(kKey, "anyres_max_9");
  int64_t most = 0;
  if (!text.starts_with(kPrefix) ||
      !parse_number(std::string_view(text).substr(kPrefix.size()), most) || most < 1 ||
      most > kMostPixels) {
    config.unsupported(kKey, fmt::format("'{}' is not supported (supported: anyres_max_N)", text));
  }
  return most;
}

}  // namespace

VisionDescription llava_next(const Config& config) {
  AnyResolution model;
  model.llava = read_llava(config);
  model.pinpoints =
      read_pinpoints(config, {{336, 672}, {672, 336}, {672, 672}, {1008, 336}, {336, 1008}},
                     model.llava.tower.image);
  return described_any_resolution(config, std::move(model));
}

VisionDescription llava_onevision(const Config& config) {
  constexpr int64_t kSide = 384, kMostTiles = 6;
  std::vector<nn::Grid> pinpoints;
  pinpoints.reserve(kMostTiles * kMostTiles);
  for (int64_t y = 1; y <= kMostTiles; ++y) {
    for (int64_t x = 1; x <= kMostTiles; ++x) pinpoints.push_back({y * kSide, x * kSide});
  }
  AnyResolution model;
  model.llava = read_llava(config, {.feature_layer = -1, .strategy = "full"});
  model.pinpoints = read_pinpoints(config, std::move(pinpoints), model.llava.tower.image);
  model.most_tiles = read_most_tiles(config);
  return described_any_resolution(config, std::move(model));
}

}  // namespace pippin::models::vision
