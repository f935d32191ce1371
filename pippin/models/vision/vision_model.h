// A vision tower in a folder of a vision-language model: its passes over an image, and a recorded
// program for each shape of them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/image/image_inputs.h"
#include "pippin/image/vision_pass.h"
#include "pippin/mil/model.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models {

struct VisionBuildOptions {
  BuildOptions::Compute compute = BuildOptions::Compute::Float16Package;
};

class VisionModel {
 public:
  // Whether a folder's model has a tower that is supported. Throws the errors of reading
  // config.json.
  static bool is_in(const std::filesystem::path& source);
  // Whether it gives one row for an image, not rows of a prompt. Throws the same errors.
  static bool takes_images_alone(const std::filesystem::path& source);
  // The meaning of its rows; nothing if it has no such tower. Also throws the errors of describing
  // an encoder of images alone.
  static std::optional<vision::VisionResult> result_in(const std::filesystem::path& source);

  // Throws like models::build(). The weights stay in the mapped checkpoint.
  explicit VisionModel(const std::filesystem::path& source, const VisionBuildOptions& options = {});

  const std::string& name() const { return origin_.name; }
  // The meaning of the rows, and a classifier's labels.
  vision::VisionResult result() const { return description_.result; }
  const vision::VisionLabels& labels() const { return description_.labels; }
  // That of a pair of towers, from the checkpoint's logit_scale and logit_bias; nothing if it has
  // none.
  std::optional<vision::PairScale> pair_scale() const;

  // Throws InvalidArgument for inputs that are not those of the model's processor.
  image::VisionPasses passes(const image::ImageInputs& inputs) const;

  // The package (families/vision.h) of one pass: fp32 `pixel_values` of shape.pixels to fp32
  // `image_features` (batch, rows, width). `shape` is that of a pass. Throws NotFound (a missing
  // tensor), InvalidFile (one of another shape, or one that no part needs).
  mil::Model build(const image::VisionShape& shape) const;

  // The parts of that: records the rows of pixel values for the newest array::Builder; a package
  // without functions; and the check that no tensor was left.
  array::Array record(const array::Array& pixels, const image::VisionShape& shape) const;
  mil::Model empty_package(mil::Opset opset) const;
  void check_all_used() const;

 private:
  Description origin_;
  vision::VisionDescription description_;
  nn::Parameters parameters_;
};

// VisionModel::passes() of a folder with a configuration, but without weights.
std::function<image::VisionPasses(const image::ImageInputs& inputs)> vision_passes(
    const std::filesystem::path& folder);

// Of the folder: the files of folder_files() and those of the image processor.
std::vector<mil::ExtraFile> vision_files(const std::filesystem::path& source);

// VisionModel::build() at once.
mil::Model build_vision(const std::filesystem::path& source, const image::VisionShape& shape,
                        const VisionBuildOptions& options = {});

}  // namespace pippin::models
