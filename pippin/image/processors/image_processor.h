// Inputs of vision towers, as a model's preprocessor_config.json describes them.
//
// `image_processor_type` chooses the rule; kinds.h lists them. The results are those of
// transformers 5: within one level of 8 bits per pixel.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "pippin/image/image_inputs.h"
#include "pippin/image/resample.h"
#include "pippin/image/video.h"
#include "pippin/io/json.h"

namespace pippin::image {

class ImageKind;

// A handle to an immutable rule: cheap to copy, usable from several threads at a time.
class ImageProcessor {
 public:
  // Reads a preprocessor_config.json, or the member image_processor of a processor_config.json.
  // Without a backend, uses transformers' default. Throws Unsupported for an unknown type or value,
  // and InvalidFile.
  static ImageProcessor read(const std::filesystem::path& path,
                             std::optional<Backend> backend = std::nullopt);
  static ImageProcessor parse(const Json& config, std::optional<Backend> backend = std::nullopt);
  // The same with the settings of the model's processor, an object, some of which have precedence.
  static ImageProcessor parse(const Json& config, const Json& processor,
                              std::optional<Backend> backend = std::nullopt);
  // Reads the files of a model's folder. Throws NotFound if it has no image processor.
  static ImageProcessor open(const std::filesystem::path& folder,
                             std::optional<Backend> backend = std::nullopt);

  // The processor of the videos of a model's folder; nothing if it has none that is known.
  static std::optional<ImageProcessor> open_video(const std::filesystem::path& folder);

  // Whether a model's folder has such a file.
  static bool is_in(const std::filesystem::path& folder);

  // Returns `image_processor_type`, without "Fast" or "Pil".
  const std::string& type() const;
  Backend backend() const;

  // Returns the inputs for one picture of 1, 3 or 4 channels. Throws InvalidArgument for a picture
  // that the model does not accept (sides too small, or a ratio too large), and LimitExceeded.
  ImageInputs process(const Picture& picture) const;
  // Returns those of a video, of which `fps` frames per second are chosen; 0: as many as the files
  // say. Also throws Unsupported if open_video() did not make the processor.
  ImageInputs process(Video video, double fps) const;

 private:
  explicit ImageProcessor(std::shared_ptr<const ImageKind> kind) : kind_(std::move(kind)) {}

  std::shared_ptr<const ImageKind> kind_;
};

}  // namespace pippin::image
