// Images in prompts of a vision-language model: from files and a rendered prompt to the ids and
// rows that a sequence takes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/runtime/embedded_rows.h"

namespace pippin::runtime {

// An image file in memory.
struct ImageFile {
  ByteSpan bytes;
  std::string name;  // begins error messages
};

// A prompt with images. The ids of rows are negative; `rows` has those of each image in order.
struct ImagePrompt {
  std::vector<int32_t> ids;
  std::vector<std::shared_ptr<const EmbeddedRows>> rows;
};

// Thread-safe.
class ImageInput {
 public:
  virtual ~ImageInput() = default;

  // The text that the model's chat template writes for an image: "<image>", "<|image_pad|>".
  virtual const std::string& placeholder() const = 0;
  // Returns the prompt of a text in which each placeholder stands for the next image. Throws
  // InvalidArgument if their numbers differ; InvalidFile, Unsupported and LimitExceeded, with the
  // file's name, for an image that cannot be read; Cancelled.
  virtual ImagePrompt read(std::string_view text, bool add_special_tokens,
                           std::span<const ImageFile> images) = 0;
};

}  // namespace pippin::runtime
