// FastVLM as Apple publishes it: a folder with the checkpoint of a language model and a projector,
// and the vision tower, FastViTHD, as a Core ML package.
//
//   config.json (llava_qwen2), *.safetensors, fastvithd.mlpackage: `images` float (1, 3, side,
//   side) to `image_features` float (1, rows, features)
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/image/image_inputs.h"
#include "pippin/image/vision_pass.h"
#include "pippin/mil/model.h"
#include "pippin/models/registry.h"

namespace pippin::models {

class FastVlm {
 public:
  // The tower's package in such a folder; nothing in others. Throws the errors of reading
  // config.json.
  static std::optional<std::filesystem::path> find_tower(const std::filesystem::path& folder);

  // Reads the package's interface. Throws Unsupported for another one, and the errors of
  // mil::read_package().
  FastVlm(std::filesystem::path folder, std::filesystem::path tower,
          BuildOptions::Compute compute = BuildOptions::Compute::Float32Direct);

  // Of its input.
  const image::VisionShape& shape() const { return shape_; }
  // One pass. Throws InvalidArgument for pixels of another shape than the package's.
  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  // The program of the pass, with the interface of families/vision.h: the package's, and the
  // projector after it. Throws like models::build().
  mil::Model build() const;

 private:
  std::filesystem::path folder_, tower_;
  BuildOptions::Compute compute_;
  image::VisionShape shape_;
  int64_t rows_ = 0;
};

}  // namespace pippin::models
