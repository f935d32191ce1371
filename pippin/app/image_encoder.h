// Embeddings, labels and maps of images: a model that gives one vector, a classifier's scores or a
// row for each place of an image, with its image processor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/app/open/open_model.h"
#include "pippin/image/processors/image_processor.h"
#include "pippin/models/vision/vision_result.h"
#include "pippin/runtime/embedded_rows.h"
#include "pippin/runtime/vision/image_input.h"
#include "pippin/runtime/vision/vision_tower.h"

namespace pippin::app {

// A label of an image.
struct ImageLabel {
  int64_t index = 0;  // in the model's list
  std::string name;
  double probability = 0;
};

// A row for each place of an image, as transformers gives it.
struct ImageMap {
  std::string name;            // "logits" or "predicted_depth"
  std::vector<int64_t> shape;  // (1, labels, height, width) or (1, height, width)
  std::vector<float> values;
};

// Thread-safe.
class ImageEncoder {
 public:
  // Whether MODEL, which is on this machine, is the folder of such a model. Throws the errors of
  // reading config.json.
  static bool is_in(const std::filesystem::path& model);

  // Opens a Hugging Face folder in fp32. Throws NotFound (no image processor, no model),
  // Unsupported (a model without such a tower), and the errors of building.
  static ImageEncoder open(const ModelChoice& choice);

  const std::string& name() const { return name_; }  // of the model
  // Whether it gives labels, not embeddings.
  bool classifies() const { return result_ == models::vision::VisionResult::Scores; }
  // Whether it gives maps, not embeddings: logits of labels, or depths.
  bool maps() const { return models::vision::is_map(result_); }
  bool maps_labels() const { return result_ == models::vision::VisionResult::LabelMap; }
  // The labels of a classifier or of a map, by their index.
  const std::vector<std::string>& labels() const { return labels_.names; }

  // Returns a vector for each image: of length 1 if texts have vectors in the same space, which a
  // TextEncoder of the folder returns, else as the model gives it. `dimensions` truncates vectors
  // and normalizes them; 0: all. Throws Unsupported for a classifier; InvalidArgument for too many
  // dimensions; InvalidFile, LimitExceeded and Unsupported, with the image's name, for an image
  // that cannot be read; Cancelled.
  std::vector<std::vector<float>> embed(std::span<const runtime::ImageFile> images,
                                        int64_t dimensions = 0) const;
  // Returns the `most` texts of `names` with the highest probabilities for an image, by their
  // vectors in the same space: those of a TextEncoder of the folder. Throws Unsupported if texts
  // have none; otherwise as embed().
  std::vector<ImageLabel> choose(const runtime::ImageFile& image,
                                 std::span<const std::string> names,
                                 std::span<const std::vector<float>> vectors, int64_t most) const;
  // Returns the `most` labels with the highest probabilities, the highest first. Throws Unsupported
  // for a model that is not a classifier; otherwise as embed().
  std::vector<ImageLabel> classify(const runtime::ImageFile& image, int64_t most) const;

  // Throws Unsupported for a model that gives no maps; otherwise as embed().
  ImageMap map(const runtime::ImageFile& image) const;
  // Returns the `most` labels of a map of labels that are the most probable at the largest shares
  // of places, which are the probabilities here; without those that are so nowhere.
  std::vector<ImageLabel> shares(const ImageMap& map, int64_t most) const;

 private:
  ImageEncoder(std::string name, image::ImageProcessor processor,
               std::unique_ptr<runtime::VisionTower> tower, models::vision::VisionResult result,
               models::vision::VisionLabels labels, std::optional<models::vision::PairScale> pair);
  // The only run of rows of an image.
  std::shared_ptr<const runtime::EmbeddedRows> run_of(const runtime::ImageFile& image) const;
  std::vector<float> row_of(const runtime::ImageFile& image) const;

  std::string name_;
  image::ImageProcessor processor_;
  std::unique_ptr<runtime::VisionTower> tower_;
  models::vision::VisionResult result_;
  models::vision::VisionLabels labels_;
  std::optional<models::vision::PairScale> pair_;
};

}  // namespace pippin::app
