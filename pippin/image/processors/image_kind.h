// The interface of image processors, one per image_processor_type.
#pragma once

#include <memory>
#include <string>

#include "pippin/image/image_inputs.h"
#include "pippin/image/processors/processor_config.h"
#include "pippin/image/video.h"

namespace pippin::image {

class ImageKind {
 public:
  virtual ~ImageKind() = default;

  // The picture has three channels.
  virtual ImageInputs process(const Picture& picture) const = 0;
  // The frames have three channels. `fps` is the number of frames per second that are chosen; 0:
  // the configuration's. Throws Unsupported for a kind that has no videos.
  virtual ImageInputs process_video(const Video& video, double fps) const;
  // Returns whether transparent pixels are composited over white, not just made opaque.
  virtual bool is_over_white() const { return false; }

  std::string type;
  Backend backend = Backend::Torchvision;
};

// Reads the configuration of one kind.
using ReadImageKind = std::shared_ptr<ImageKind>(ProcessorConfig& config);

// Returns an array of one row of numbers: [1, n].
IntArray row_of(std::initializer_list<int64_t> values);
// Returns [n].
IntArray list_of(std::initializer_list<int64_t> values);

}  // namespace pippin::image
