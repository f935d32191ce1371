#include "pippin/app/image_encoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/vision_model.h"
#include "pippin/app/unit_vector.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/image/model_picture.h"
#include "pippin/models/model_source.h"
#include "pippin/models/vision/vision_model.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using models::VisionModel;
using models::vision::VisionLabels;
using models::vision::VisionResult;

// The softmax of the logits, or the sigmoid of each.
std::vector<double> probabilities_of(std::vector<double> result, bool independent) {
  if (independent) {
    for (double& x : result) x = 1 / (1 + std::exp(-x));
    return result;
  }
  const double largest = *std::max_element(result.begin(), result.end());
  double sum = 0;
  for (double& x : result) sum += x = std::exp(x - largest);
  for (double& x : result) x /= sum;
  return result;
}

// The `most` names with the highest values.
std::vector<ImageLabel> best_of(std::span<const std::string> names,
                                const std::vector<double>& values, int64_t most) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  order.resize(std::min(order.size(), static_cast<size_t>(std::max<int64_t>(most, 0))));
  std::vector<ImageLabel> labels;
  labels.reserve(order.size());
  for (const size_t i : order) labels.push_back({static_cast<int64_t>(i), names[i], values[i]});
  return labels;
}

// Of a model in a folder; throws Unsupported for one without a row for an image.
VisionResult result_of(const fs::path& path) {
  if (!fs::exists(path)) fail(ErrorCode::NotFound, "{}: there is no such model", path.string());
  if (models::is_made_of_packages(path)) {
    fail(ErrorCode::Unsupported,
         "{}: a package embeds no images; the folder of the checkpoint that it was made from does",
         path.string());
  }
  const auto result = VisionModel::result_in(path);
  if (!result) {
    fail(ErrorCode::Unsupported, "{}: this model takes no images", path.string());
  }
  if (*result == VisionResult::Rows) {
    fail(ErrorCode::Unsupported,
         "{}: this model reads images in prompts (pippin run --image): it has no embedding of one",
         path.string());
  }
  return *result;
}

}  // namespace

bool ImageEncoder::is_in(const fs::path& model) {
  return fs::is_directory(model) && !models::is_made_of_packages(model) &&
         VisionModel::takes_images_alone(model);
}

ImageEncoder::ImageEncoder(std::string name, image::ImageProcessor processor,
                           std::unique_ptr<runtime::VisionTower> tower, VisionResult result,
                           VisionLabels labels, std::optional<models::vision::PairScale> pair)
    : name_(std::move(name)),
      processor_(std::move(processor)),
      tower_(std::move(tower)),
      result_(result),
      labels_(std::move(labels)),
      pair_(pair) {}

ImageEncoder ImageEncoder::open(const ModelChoice& given) {
  const ModelChoice choice = resolve_choice(given, /*text=*/false);
  const fs::path path = choice.path;
  const VisionResult result = result_of(path);
  auto processor = image::ImageProcessor::open(path);
  const auto model = std::make_shared<const VisionModel>(
      path, models::VisionBuildOptions{.compute = models::BuildOptions::Compute::Float32Direct});
  runtime::VisionTowerOptions options{.compute = choice.load.compute};
  options.compute.device = nullptr;  // the tower is computed on the CPU
  return ImageEncoder(
      model->name(), std::move(processor),
      open_vision_tower(
          model, std::make_shared<ThreadPool>(choice.load.threads, choice.load.pinning), options),
      result, model->labels(), model->pair_scale());
}

std::shared_ptr<const runtime::EmbeddedRows> ImageEncoder::run_of(
    const runtime::ImageFile& image) const {
  check_cancel();
  return runtime::naming_image(image, [&] {
    const auto runs =
        tower_->encode(processor_.process(image::parse_model_picture(image.bytes, image.name)));
    if (runs.size() != 1 || (runs.front()->count != 1 && !maps())) {
      fail(ErrorCode::Unsupported, "the image becomes {} inputs of the model, not one",
           runs.size());
    }
    return runs.front();
  });
}

std::vector<float> ImageEncoder::row_of(const runtime::ImageFile& image) const {
  return run_of(image)->values;
}

std::vector<std::vector<float>> ImageEncoder::embed(std::span<const runtime::ImageFile> images,
                                                    int64_t dimensions) const {
  if (classifies()) {
    fail(ErrorCode::Unsupported,
         "{} is a classifier: it gives labels of images (pippin predict --image), not embeddings",
         name_);
  }
  if (maps()) {
    fail(ErrorCode::Unsupported,
         "{} gives a map of an image (pippin predict --image), not an embedding", name_);
  }
  std::vector<std::vector<float>> vectors;
  vectors.reserve(images.size());
  for (const runtime::ImageFile& image : images) {
    std::vector<float>& vector = vectors.emplace_back(row_of(image));
    if (result_ == VisionResult::SharedVector) normalize(vector);
  }
  shorten_all(vectors, dimensions);
  return vectors;
}

std::vector<ImageLabel> ImageEncoder::classify(const runtime::ImageFile& image,
                                               int64_t most) const {
  if (!classifies()) {
    fail(ErrorCode::Unsupported,
         "{} is not a classifier: it embeds images (pippin embed --image) and has no labels",
         name_);
  }
  const std::vector<float> logits = row_of(image);
  return best_of(labels_.names,
                 probabilities_of({logits.begin(), logits.end()}, labels_.independent), most);
}

std::vector<ImageLabel> ImageEncoder::choose(const runtime::ImageFile& image,
                                             std::span<const std::string> names,
                                             std::span<const std::vector<float>> vectors,
                                             int64_t most) const {
  if (result_ != VisionResult::SharedVector || !pair_) {
    fail(ErrorCode::Unsupported, "{} {}", name_,
         pair_ ? "gives texts no vectors in the space of images"
               : "has no logit_scale, which turns cosines into probabilities");
  }
  const std::vector<float> own = embed({&image, 1}).front();
  std::vector<double> logits;
  logits.reserve(vectors.size());
  for (const std::vector<float>& text : vectors) {
    if (text.size() != own.size()) {
      fail(ErrorCode::InvalidArgument, "a text has {} numbers, an image {}", text.size(),
           own.size());
    }
    const double cosine = std::inner_product(text.begin(), text.end(), own.begin(), 0.0);
    logits.push_back(pair_->factor * cosine + pair_->bias);
  }
  return best_of(names, probabilities_of(std::move(logits), pair_->independent), most);
}

ImageMap ImageEncoder::map(const runtime::ImageFile& image) const {
  if (!maps()) fail(ErrorCode::Unsupported, "{} gives no maps of images", name_);
  const auto run = run_of(image);
  const int64_t height = run->grid[1], width = run->grid[2], numbers = run->width;
  ImageMap map;
  map.name = maps_labels() ? "logits" : "predicted_depth";
  map.shape = {1, height, width};
  if (maps_labels()) map.shape.insert(map.shape.begin() + 1, numbers);
  map.values.resize(run->values.size());
  for (int64_t place = 0; place < run->count; ++place) {
    for (int64_t i = 0; i < numbers; ++i) {
      map.values[static_cast<size_t>(i * run->count + place)] =
          run->values[static_cast<size_t>(place * numbers + i)];
    }
  }
  return map;
}

std::vector<ImageLabel> ImageEncoder::shares(const ImageMap& map, int64_t most) const {
  const size_t count = labels_.names.size(), places = map.values.size() / count;
  std::vector<double> shares(count);
  for (size_t place = 0; place < places; ++place) {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i) {
      if (map.values[i * places + place] > map.values[best * places + place]) best = i;
    }
    shares[best] += 1 / static_cast<double>(places);
  }
  std::vector<ImageLabel> labels = best_of(labels_.names, shares, most);
  std::erase_if(labels, [](const ImageLabel& label) { return label.probability == 0; });
  return labels;
}

}  // namespace pippin::app
