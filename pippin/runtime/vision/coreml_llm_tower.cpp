#include "pippin/runtime/vision/coreml_llm_tower.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/families/coreml_llm.h"
#include "pippin/families/package.h"
#include "pippin/families/vision.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/program.h"
#include "pippin/runtime/package/folder.h"
#include "pippin/runtime/package/functions.h"

namespace pippin::runtime {
namespace {

namespace coreml_llm = families::coreml_llm;
namespace vision = families::vision;

// The names of the image processor's outputs.
constexpr const char* kPlaces = "image_position_ids";
constexpr const char* kCount = "num_soft_tokens_per_image";

struct TowerSizes {
  int64_t patches = 0, numbers = 0, rows = 0, width = 0;  // numbers: of a patch
};

// Whether it is an input (1, patches, numbers) of one size.
bool has_shape(const mil::Feature* feature, mil::DataType type) {
  return feature != nullptr && feature->data_type == type && feature->shape.size() == 3 &&
         feature->shape.front() == 1 && feature->ranges.empty() &&
         feature->enumerated_shapes.empty();
}

// The shape of an output, which packages of coremltools do not declare; empty without one.
std::vector<int64_t> shape_of_output(const mil::Model& model,
                                     const mil::FunctionDescription& function,
                                     std::string_view name) {
  const mil::Feature* const declared = find_feature(function.outputs, name);
  if (declared != nullptr && !declared->shape.empty()) return declared->shape;
  for (const mil::Var* const output : model.program.function(function.name).block().outputs()) {
    if (output->name == name) return output->type.dims;
  }
  return {};
}

TowerSizes sizes_of(const mil::Model& model, const std::string& name) {
  const mil::FunctionDescription* const main =
      model.has_program() ? &model.description(model.default_function) : nullptr;
  const mil::Feature *pixels = nullptr, *places = nullptr;
  std::vector<int64_t> rows;
  if (main != nullptr && main->name == families::kMain && main->inputs.size() == 2 &&
      main->states.empty()) {
    pixels = find_feature(main->inputs, vision::kPixels);
    places = find_feature(main->inputs, coreml_llm::kPatchPlaces);
    rows = shape_of_output(model, *main, vision::kRows);
  }
  if (!has_shape(pixels, mil::DataType::Float32) || !has_shape(places, mil::DataType::Int32) ||
      rows.size() != 3 || rows[0] != 1 || rows[1] < 1 || rows[2] < 1 ||
      places->shape[1] != pixels->shape[1] || places->shape[2] != 2) {
    fail(ErrorCode::Unsupported,
         "{}: not the bundle's vision tower: {} (1, patches, numbers) fp32 and {} (1, patches, 2) "
         "int32 to {} (1, rows, width) are expected",
         name, vision::kPixels, coreml_llm::kPatchPlaces, vision::kRows);
  }
  return {pixels->shape[1], pixels->shape[2], rows[1], rows[2]};
}

// Returns 0 for numbers that are not squares.
int64_t root_of(int64_t square) {
  const auto root = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(square))));
  return root * root == square ? root : 0;
}

image::ImageProcessor processor_of(const TowerSizes& sizes, const std::string& name) {
  const int64_t patch = sizes.numbers % 3 == 0 ? root_of(sizes.numbers / 3) : 0;
  const int64_t pooling = sizes.patches % sizes.rows == 0 ? root_of(sizes.patches / sizes.rows) : 0;
  try {
    return image::ImageProcessor::parse(
        Json::parse(fmt::format(R"({{"image_processor_type": "Gemma4ImageProcessor",
                                    "patch_size": {}, "pooling_kernel_size": {},
                                    "max_soft_tokens": {}}})",
                                patch, pooling, sizes.rows),
                    name));
  } catch (const Error& error) {
    fail(ErrorCode::Unsupported, "{}: {} patches of {} numbers, which become {} rows: {}", name,
         sizes.patches, sizes.numbers, sizes.rows, error.what());
  }
}

image::VisionPasses passes_of(const TowerSizes& sizes, const image::ImageInputs& inputs) {
  const std::vector<int64_t> shape = {1, sizes.patches, sizes.numbers};
  const auto places = inputs.sizes.find(kPlaces), count = inputs.sizes.find(kCount);
  if (inputs.pixel_values.shape != shape || places == inputs.sizes.end() ||
      places->second.shape != std::vector<int64_t>{1, sizes.patches, 2} ||
      count == inputs.sizes.end() || count->second.values.size() != 1 ||
      count->second.values[0] < 1 || count->second.values[0] > sizes.rows) {
    fail(ErrorCode::InvalidArgument,
         "{} ({}): one image of {} patches of {} numbers, which becomes at most {} rows, is "
         "expected, with {} and {}",
         vision::kPixels, fmt::join(inputs.pixel_values.shape, ", "), sizes.patches, sizes.numbers,
         sizes.rows, kPlaces, kCount);
  }
  image::VisionRun run;
  run.rows.resize(static_cast<size_t>(count->second.values[0]));
  std::iota(run.rows.begin(), run.rows.end(), 0);
  return {{{{shape, {}}, 0, {}, {{coreml_llm::kPatchPlaces, kPlaces}}}}, {std::move(run)}};
}

}  // namespace

CoreMlLlmTower open_coreml_llm_tower(const std::filesystem::path& place, int64_t width) {
  const auto folder = std::make_shared<PackageFolder>(place);
  const std::string name = folder->file_name(coreml_llm::kVisionPart);
  const std::filesystem::path package = folder->package(coreml_llm::kVisionPart);
  const TowerSizes sizes = sizes_of(mil::read_package(package), name);
  if (sizes.width != width) {
    fail(ErrorCode::InvalidFile, "{}: rows of {} numbers, {} has a hidden_size of {}", name,
         sizes.width, coreml_llm::kConfigFile, width);
  }
  VisionPrograms programs;
  programs.passes = [sizes](const image::ImageInputs& inputs) { return passes_of(sizes, inputs); };
  // The folder keeps unpacked files.
  programs.build = [folder, package](const image::VisionShape&) {
    return mil::read_package(package);
  };
  const Json none = Json::parse("{}", name);
  return {processor_of(sizes, name), image::ImagePrompt::parse("Gemma4Processor", none, none),
          std::move(programs)};
}

}  // namespace pippin::runtime
