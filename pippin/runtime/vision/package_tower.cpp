#include "pippin/runtime/vision/package_tower.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/families/package.h"
#include "pippin/families/vision.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/package/functions.h"

namespace pippin::runtime {
namespace {

namespace fs = std::filesystem;
namespace vision = families::vision;

std::string_view metadata_of(const mil::Model& model, const char* key) {
  const auto found = model.metadata.user_defined.find(key);
  return found == model.metadata.user_defined.end() ? std::string_view() : found->second;
}

image::VisionShape shape_of(const mil::Model& model, const fs::path& package) {
  const mil::FunctionDescription* const main =
      model.has_program() ? &model.description(model.default_function) : nullptr;
  const mil::Feature* const pixels =
      main == nullptr ? nullptr : find_feature(main->inputs, vision::kPixels);
  const bool fits = pixels != nullptr && main->name == families::kMain &&
                    main->inputs.size() == 1 && main->states.empty() &&
                    pixels->data_type == mil::DataType::Float32 && !pixels->shape.empty() &&
                    pixels->ranges.empty() && pixels->enumerated_shapes.empty() &&
                    find_feature(main->outputs, vision::kRows) != nullptr;
  if (!fits) {
    fail(ErrorCode::Unsupported,
         "{}: not a vision tower: a function {} from {} (fp32, of one shape) to {} is expected",
         package.string(), families::kMain, vision::kPixels, vision::kRows);
  }
  image::VisionShape shape{pixels->shape, {}};
  std::string_view sizes = metadata_of(model, vision::kSizesKey);
  while (!sizes.empty()) {
    const size_t end = std::min(sizes.find(','), sizes.size());
    int64_t size = 0;
    if (!parse_number(std::string(sizes.substr(0, end)), size) || size < 1) {
      fail(ErrorCode::InvalidFile, "{}: {} '{}': numbers above 0 are expected", package.string(),
           vision::kSizesKey, metadata_of(model, vision::kSizesKey));
    }
    shape.sizes.push_back(size);
    sizes.remove_prefix(std::min(end + 1, sizes.size()));
  }
  return shape;
}

// The rows of a pass of the package; 0 if it does not say.
int64_t rows_of_pass(const mil::Model& model) {
  const mil::Feature* const rows =
      find_feature(model.description(model.default_function).outputs, vision::kRows);
  return rows->shape.size() == 3 && rows->shape.front() == 1 ? rows->shape[1] : 0;
}

// Passes over several tiles may be divided only if the rows of a pass are those of its tiles. They
// are not if rows for the whole pass follow them (LLaVA-NeXT with small tiles).
void check_divided(const image::VisionPasses& wanted, const image::VisionPasses& divided,
                   int64_t rows) {
  if (wanted.passes.size() == divided.passes.size()) return;
  int64_t last = -1;
  for (const image::VisionRun& run : wanted.runs) {
    for (const int64_t row : run.rows) last = std::max(last, row);
  }
  if (last + 1 == rows * std::ssize(divided.passes)) return;
  fail(ErrorCode::Unsupported,
       "the {} tiles of the image have {} rows together, the vision package gives {} for each",
       divided.passes.size(), last + 1, rows);
}

[[noreturn]] void refuse_image(const image::VisionPasses& passes, const image::VisionShape& shape,
                               const std::string& image_size) {
  std::string found;
  for (const image::VisionPass& pass : passes.passes) {
    const image::VisionShape one = image::one_tile(pass.shape);
    if (one != shape) found = image::to_string(one);
  }
  fail(ErrorCode::InvalidArgument,
       "the image becomes {} {}, the vision package takes {}{}: resize the image, or write a "
       "package for its size (convert --image-size HEIGHTxWIDTH)",
       vision::kPixels, found, image::to_string(shape),
       image_size.empty() ? "" : fmt::format(", which images of {} pixels become", image_size));
}

}  // namespace

VisionPrograms package_programs(
    const fs::path& package,
    std::function<image::VisionPasses(const image::ImageInputs& inputs)> passes) {
  const mil::Model model = mil::read_package(package);
  const image::VisionShape shape = shape_of(model, package);
  const std::string image_size(metadata_of(model, vision::kImageKey));
  VisionPrograms programs;
  const int64_t rows = rows_of_pass(model);
  programs.passes = [passes = std::move(passes), shape, image_size,
                     rows](const image::ImageInputs& inputs) {
    const image::VisionPasses wanted = passes(inputs);
    auto divided = image::passes_of_shape(wanted, shape);
    if (!divided) refuse_image(wanted, shape, image_size);
    check_divided(wanted, *divided, rows);
    return *std::move(divided);
  };
  programs.build = [package](const image::VisionShape& /*shape*/) {
    return mil::read_package(package);
  };
  return programs;
}

}  // namespace pippin::runtime
