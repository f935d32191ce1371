// Images in prompts of a vision-language model: from files and a rendered prompt to the ids and
// rows that a sequence takes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/image/processors/image_processor.h"
#include "pippin/image/prompt/image_prompt.h"
#include "pippin/runtime/vision/vision_tower.h"
#include "pippin/runtime/vision_prompt.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

// An image file in memory, or a video (chat/message.h).
struct ImageFile {
  ByteSpan bytes;
  std::string name;  // begins error messages
  bool is_video = false;
  std::vector<ByteSpan> frames = {};
  double fps = 0;
};

// Returns the result of `work`, whose errors begin with the file's name.
template <typename Work>
auto naming_image(const ImageFile& file, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(file.name)) throw;
    fail(error.code(), "{}: {}", file.name, error.what());
  }
}

// The parts of a model that images pass through: the processor of its pixels, the rule for its
// prompts, and its tower. Thread-safe.
class ImageInput {
 public:
  // Prompts of images have at most `most_rows` rows. Without a processor of videos, they are
  // refused.
  ImageInput(image::ImageProcessor processor, image::ImagePrompt rule,
             std::unique_ptr<VisionTower> tower, int64_t most_rows,
             std::optional<image::ImageProcessor> videos = std::nullopt);

  // The text that the model's chat template writes for an image: "<image>", "<|image_pad|>".
  const std::string& placeholder() const { return rule_.placeholder(); }
  const image::ImagePrompt& rule() const { return rule_; }
  bool takes_videos() const { return videos_ && !rule_.video_placeholder().empty(); }
  // Throws Unsupported if the model takes no videos. `name` begins the message.
  void check_videos(const std::string& name) const;
  // The same for each video among the images, with its name.
  void check_kinds(std::span<const ImageFile> images) const;
  // Returns the prompt of a text in which each placeholder stands for the next image. Throws
  // InvalidArgument if their numbers differ; InvalidFile, Unsupported and LimitExceeded, with the
  // file's name, for an image that cannot be read or has too many rows; Cancelled.
  VisionPrompt read(const Tokenizer& tokenizer, std::string_view text, bool add_special_tokens,
                    std::span<const ImageFile> images) const;
  // The two parts of that: the inputs of the tower for one image, and the tower.
  image::ImageInputs process(const ImageFile& file) const;
  VisionTower& tower() const { return *tower_; }
  // Returns the rows of one image, one element for each run of the prompt.
  VisionTower::Rows rows(const ImageFile& image) const;

 private:
  struct Processed;
  Processed encode(const ImageFile& file, int64_t index, int64_t rows_before) const;

  image::ImageProcessor processor_;
  std::optional<image::ImageProcessor> videos_;
  image::ImagePrompt rule_;
  std::unique_ptr<VisionTower> tower_;
  int64_t most_rows_;
};

}  // namespace pippin::runtime
