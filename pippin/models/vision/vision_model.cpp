#include "pippin/models/vision/vision_model.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/files/file.h"
#include "pippin/families/package.h"
#include "pippin/families/vision.h"
#include "pippin/io/model_files.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/family/package_part.h"
#include "pippin/models/model_source.h"
#include "pippin/models/quantization.h"
#include "pippin/models/vision/fastvithd.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;

vision::VisionDescription read_tower(const fs::path& source) {
  return vision::describe_vision(Config(load_config(source)));
}

// Without a language model.
Description read_description(const fs::path& source) {
  const Json config = load_config(source);
  Description description;
  description.name = model_name(source, config);
  description.model_type = config.get_string_or("model_type", "");
  if (const auto names = config.find("architectures"); names && names->size() > 0) {
    description.class_name = std::string(names->at(size_t{0}).as_string());
  }
  return description;
}

nn::Parameters open_tower(const fs::path& source, const VisionBuildOptions& options) {
  BuildOptions build;
  build.compute = options.compute;
  return open_parameters(source, precision(build))
      .unpacking(packed_weights(Config(load_config(source))));
}

// Beginnings of the names of the language models next to towers.
constexpr std::string_view kTextParts[] = {
    "language_model.", "model.language_model.",
    "lm_head.",        "model.text_model.",
    "text_model.",     "model.layers.",
    "model.norm.",     "model.embed_tokens.",
    "model.lm_head.",  "mtp.",
};

}  // namespace

bool VisionModel::is_in(const fs::path& source) {
  if (!fs::is_directory(source) || !fs::exists(text_folder(source) / "config.json")) return false;
  const std::string type = load_config(source).get_string_or("model_type", "");
  if (!vision::is_vision_type(type)) return false;
  // Folders for Apple's app have the tower as a package, if at all.
  return type != "llava_qwen2" ||
         (has_weights(source) && open_tower(source, {}).contains(vision::kFastVitTensor));
}

bool VisionModel::takes_images_alone(const fs::path& source) {
  return is_in(source) &&
         vision::is_image_encoder_type(load_config(source).get_string_or("model_type", ""));
}

std::optional<vision::VisionResult> VisionModel::result_in(const fs::path& source) {
  if (!is_in(source)) return std::nullopt;
  if (!takes_images_alone(source)) return vision::VisionResult::Rows;
  return read_tower(source).result;
}

VisionModel::VisionModel(const fs::path& source, const VisionBuildOptions& options)
    : origin_(read_description(source)),
      description_(read_tower(source)),
      parameters_(open_tower(source, options)) {}

std::optional<vision::PairScale> VisionModel::pair_scale() const {
  if (!parameters_.contains("logit_scale")) return std::nullopt;
  vision::PairScale scale;
  scale.independent = parameters_.contains("logit_bias");
  // SigLIP's are vectors.
  const std::vector<int64_t> dims(scale.independent ? 1 : 0, 1);
  scale.factor = std::exp(parameters_.values("logit_scale", dims).at(0));
  if (std::isfinite(description_.most_scale)) {
    scale.factor = std::clamp(scale.factor, 1.0, std::max(description_.most_scale, 1.0));
  }
  if (scale.independent) scale.bias = parameters_.values("logit_bias", dims).at(0);
  return scale;
}

image::VisionPasses VisionModel::passes(const image::ImageInputs& inputs) const {
  return description_.passes(inputs);
}

array::Array VisionModel::record(const array::Array& pixels,
                                 const image::VisionShape& shape) const {
  return description_.record(parameters_, array::cast(pixels, parameters_.type()), shape);
}

mil::Model VisionModel::empty_package(mil::Opset opset) const {
  return empty_model(origin_, families::vision::kName, opset);
}

void VisionModel::check_all_used() const {
  constexpr std::string_view kBuffers[] = {"num_batches_tracked", "position_ids",
                                           "rotary_emb.inv_freq", "rotary_pos_emb.inv_freq"};
  std::vector<std::string> others(std::begin(kTextParts), std::end(kTextParts));
  others.insert(others.end(), description_.unused.begin(), description_.unused.end());
  parameters_.check_all_used(kBuffers, others);
}

mil::Model VisionModel::build(const image::VisionShape& shape) const {
  constexpr auto kFloat = mil::DataType::Float32;
  array::Builder builder;
  mil::Shape dims(shape.pixels.begin(), shape.pixels.end());
  const array::Array pixels = builder.input(families::vision::kPixels, kFloat, std::move(dims));
  const array::Array rows = record(pixels, shape);
  builder.output(families::vision::kRows, array::cast(rows, kFloat));

  mil::Model model = empty_package(builder.opset());
  if (!shape.sizes.empty()) {
    model.metadata.user_defined[families::vision::kSizesKey] =
        fmt::format("{}", fmt::join(shape.sizes, ","));
  }
  model.program.functions.emplace(families::kMain, builder.build());
  mil::FunctionDescription function;
  function.name = families::kMain;
  function.inputs = {
      mil::array_feature(families::vision::kPixels, "Pixels of an image", kFloat, shape.pixels)};
  function.outputs = {mil::array_feature(families::vision::kRows, "Embeddings of the image", kFloat,
                                         mil::constant_shape(rows.shape()).value())};
  model.functions.push_back(std::move(function));
  model.default_function = families::kMain;
  check_all_used();
  return model;
}

std::function<image::VisionPasses(const image::ImageInputs& inputs)> vision_passes(
    const fs::path& folder) {
  return read_tower(folder).passes;
}

std::vector<mil::ExtraFile> vision_files(const fs::path& source) {
  std::vector<mil::ExtraFile> files = folder_files(source);
  for (const fs::path& path : files_of_role(text_folder(source), FileRole::Processor)) {
    files.push_back({"", path.filename().string(), read_file(path)});
  }
  return files;
}

mil::Model build_vision(const fs::path& source, const image::VisionShape& shape,
                        const VisionBuildOptions& options) {
  return VisionModel(source, options).build(shape);
}

}  // namespace pippin::models
