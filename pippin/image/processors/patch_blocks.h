// Pictures, or successive frames, as patches of a fixed size in the order of blocks: Qwen2-VL and
// its relatives.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "pippin/image/processors/image_kind.h"
#include "pippin/image/processors/processor_config.h"

namespace pippin::image {

struct PatchOptions {
  PixelOptions pixels;
  int64_t patch = 14;  // pixels per side
  int64_t merge = 2;   // patches per side of a block that becomes one row
  int64_t frames = 2;  // frames in each patch; a picture is repeated
  std::function<Size(Size)> target;
  bool merge_sizes = false;  // whether "image_merge_sizes" is an output (VideoLLaMA 3)
};

struct PatchDefaults {
  int64_t patch, merge, frames, least, most;  // `least` and `most` pixels
};

struct PixelRange {
  int64_t least, most;
};

// Reads all but the target and merge_sizes.
PatchOptions read_patches(ProcessorConfig& config, const std::array<double, 3>& mean,
                          const std::array<double, 3>& std, const PatchDefaults& defaults,
                          PixelRange& range);

// Returns the size with sides below one block stretched to it.
Size at_least_one_block(Size size, int64_t factor);

// All patches of a block of merge x merge, then the next block. Each is [channels, frames, patch,
// patch].
class BlockKind : public ImageKind {
 public:
  explicit BlockKind(PatchOptions options);
  ImageInputs process(const Picture& picture) const override;

 protected:
  // Of frames of one size; the last one is repeated if they do not fill a patch.
  ImageInputs process_frames(std::span<const Picture* const> frames, Size size) const;
  const PatchOptions& options() const { return options_; }

 private:
  // Appends the patches of as many frames as a patch has, or fewer.
  void append_frames(const std::vector<FloatArray>& frames, std::vector<float>& values) const;

  PatchOptions options_;
};

}  // namespace pippin::image
