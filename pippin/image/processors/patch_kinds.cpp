// Processors that cut a picture into patches of a fixed size, with as many patches as the picture
// needs: Qwen2-VL and its relatives.
#include <functional>
#include <utility>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/patch_blocks.h"
#include "pippin/image/processors/sizes.h"

namespace pippin::image {
namespace {

// PaddleOCR-VL keeps patches in the order of rows, as [patches, channels, patch, patch].
class RowKind : public ImageKind {
 public:
  explicit RowKind(PatchOptions options) : blocks_(without_merge(std::move(options))) {}

  ImageInputs process(const Picture& picture) const override {
    ImageInputs inputs = blocks_.process(picture);
    const int64_t count = inputs.pixel_values.shape[0];
    inputs.pixel_values.shape = {count, 3 * frames_, patch_, patch_};
    return inputs;
  }

 private:
  PatchOptions without_merge(PatchOptions options) {
    patch_ = options.patch;
    frames_ = options.frames;
    options.merge = 1;
    return options;
  }

  int64_t patch_ = 0, frames_ = 0;
  BlockKind blocks_;
};

std::function<Size(Size)> smart_target(const PatchOptions& options, PixelRange range) {
  const int64_t factor = options.patch * options.merge;
  return [=](Size size) { return smart_size(size, factor, range.least, range.most); };
}

}  // namespace

std::shared_ptr<ImageKind> read_qwen2_vl(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions options =
      read_patches(config, kClipMean, kClipStd, {14, 2, 2, 56 * 56, 28 * 28 * 1280}, range);
  options.target = smart_target(options, range);
  return std::make_shared<BlockKind>(std::move(options));
}

std::shared_ptr<ImageKind> read_ernie_vl(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions options =
      read_patches(config, kClipMean, kClipStd, {14, 2, 1, 56 * 56, 6177 * 28 * 28}, range);
  options.target = smart_target(options, range);
  return std::make_shared<BlockKind>(std::move(options));
}

std::shared_ptr<ImageKind> read_video_llama(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions options =
      read_patches(config, kHalf, kHalf, {14, 1, 1, 56 * 56, 28 * 28 * 1280}, range);
  options.target = smart_target(options, range);
  options.merge_sizes = true;
  return std::make_shared<BlockKind>(std::move(options));
}

// The limits are for all frames of a patch.
std::shared_ptr<ImageKind> read_glm4v(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions options =
      read_patches(config, kClipMean, kClipStd, {14, 2, 2, 112 * 112, 28 * 28 * 15000}, range);
  const int64_t factor = options.patch * options.merge, frames = options.frames;
  options.target = [=](Size size) {
    return smart_size(at_least_one_block(size, factor), factor, range.least, range.most, frames);
  };
  return std::make_shared<BlockKind>(std::move(options));
}

std::shared_ptr<ImageKind> read_paddleocr_vl(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions options =
      read_patches(config, kClipMean, kClipStd, {14, 2, 1, 384 * 384, 1536 * 1536}, range);
  const int64_t factor = options.patch * options.merge;
  options.target = [=](Size size) {
    const auto stretched = [&](int64_t side, int64_t other) {
      return rounded_to_even(static_cast<double>(side * factor) / static_cast<double>(other));
    };
    if (size.height < factor) size = {factor, stretched(size.width, size.height)};
    if (size.width < factor) size = {stretched(size.height, size.width), factor};
    return smart_size(size, factor, range.least, range.most);
  };
  return std::make_shared<RowKind>(std::move(options));
}

}  // namespace pippin::image
