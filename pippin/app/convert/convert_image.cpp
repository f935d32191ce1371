#include "pippin/app/convert/convert_image.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "pippin/app/convert/convert_encoder.h"
#include "pippin/app/convert/convert_vision.h"
#include "pippin/app/convert/write_converted.h"
#include "pippin/base/error.h"
#include "pippin/families/stateful.h"
#include "pippin/image/processors/image_processor.h"
#include "pippin/models/model_source.h"
#include "pippin/models/vision/image_package.h"
#include "pippin/models/vision/vision_model.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

// The value of each channel of the processed picture of one color; nothing if it is not one.
std::vector<double> processed_color(const image::ImageProcessor& processor,
                                    const image::VisionShape& shape, uint8_t color) {
  const int64_t channels = shape.pixels.at(1), height = shape.pixels.at(2),
                width = shape.pixels.at(3);
  Picture picture{width, height, 3, {}};
  picture.pixels.assign(static_cast<size_t>(width * height * 3), color);
  const image::FloatArray pixels = processor.process(picture).pixel_values;
  const auto area = static_cast<size_t>(height * width);
  if (pixels.values.size() != area * static_cast<size_t>(channels)) return {};
  std::vector<double> colors;
  for (size_t channel = 0; channel < static_cast<size_t>(channels); ++channel) {
    const auto begin = pixels.values.begin() + static_cast<int64_t>(channel * area);
    const auto end = begin + static_cast<int64_t>(area);
    const auto [least, most] = std::minmax_element(begin, end);
    if (!(*most - *least <= 1e-4F)) return {};
    colors.push_back(*begin);
  }
  return colors;
}

models::PixelScale scale_of(const image::ImageProcessor& processor,
                            const image::VisionShape& shape) {
  constexpr int kWhite = 255;
  const auto black = processed_color(processor, shape, 0);
  const auto white = processed_color(processor, shape, kWhite);
  if (black.empty() || white.empty()) {
    fail(ErrorCode::Unsupported,
         "the image processor {} does more to an image of {} than scale its pixels, which a "
         "package cannot",
         processor.type(), image::to_string(shape));
  }
  models::PixelScale scale;
  for (size_t i = 0; i < black.size(); ++i) {
    scale.factors.push_back((white[i] - black[i]) / kWhite);
    scale.addends.push_back(black[i]);
  }
  return scale;
}

}  // namespace

bool makes_image_package(const fs::path& source, const ConvertOptions& options) {
  if (options.family != families::stateful::kName || options.random_weights ||
      models::is_made_of_packages(source)) {
    return false;
  }
  const auto result = models::VisionModel::result_in(source);
  return result &&
         (*result == models::vision::VisionResult::Scores || models::vision::is_map(*result));
}

ConvertResult convert_image(const fs::path& source, const fs::path& output,
                            const ConvertOptions& options,
                            const std::optional<compress::Recipe>& recipe) {
  const auto start = std::chrono::steady_clock::now();
  ConvertOptions others = options;
  others.image_size.reset();
  check_encoder_options(others, "a model of images");
  check_package_output(output);
  const models::VisionModel vision(source);
  const image::VisionShape shape = choose_image_shape(vision, source, options.image_size);
  const auto processor = image::ImageProcessor::open(models::text_folder(source));
  mil::Model model = models::build_image_package(vision, shape, scale_of(processor, shape));
  return write_converted(model, output, {}, options, recipe, start);
}

}  // namespace pippin::app
