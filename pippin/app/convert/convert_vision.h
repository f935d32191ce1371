// convert() for models that read images: a folder of the packages of a language model and of its
// vision tower.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "pippin/app/convert/convert.h"
#include "pippin/image/vision_pass.h"
#include "pippin/models/family/package_part.h"
#include "pippin/models/vision/vision_model.h"

namespace pippin::app {

// Whether the source is converted to such a folder: the family is `stateful`, the output's name is
// that of a folder, and the source has a vision tower. Throws InvalidArgument for options of towers
// if not, naming the reason.
bool makes_vision(const std::filesystem::path& source, const std::filesystem::path& output,
                  const ConvertOptions& options);

// For a source that makes_vision() rejects: logs a warning if the family or the output's name does
// that, so that the output lacks the tower of the source. Throws like check_package_output() and
// check_folder_output().
void warn_without_vision(const std::filesystem::path& source, const std::filesystem::path& output,
                         const ConvertOptions& options);

// Throws InvalidArgument for options of towers, which are not for `what`.
void refuse_vision_options(const ConvertOptions& options, const char* what);

// The shape of images of the wanted size, or that of all images. Throws InvalidArgument if images
// of any size need one to be wanted, or the other way round.
image::VisionShape choose_image_shape(const models::VisionModel& model,
                                      const std::filesystem::path& source,
                                      const std::optional<ImageSize>& wanted);

// The language model's package, which the recipe compresses as a whole, and the tower's, which it
// compresses if the options ask for that.
struct VisionParts {
  models::PackagePart language, tower;
  int64_t context = 0;
  models::PackedSummary packed;
  std::string meta_json;
};
// Throws like models::build() and models::VisionModel; InvalidArgument if the tower takes images of
// any size and the options name none, or the other way round; Unsupported if images need programs
// of several shapes.
VisionParts vision_parts(const std::filesystem::path& source, const ConvertOptions& options);

}  // namespace pippin::app
