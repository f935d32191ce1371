#include "pippin/app/convert/convert_vision.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "pippin/app/convert/package_output.h"
#include "pippin/app/convert/write_converted.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/families/vision.h"
#include "pippin/image/processors/image_processor.h"
#include "pippin/image/vision_pass.h"
#include "pippin/io/json.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/model_source.h"
#include "pippin/models/vision/fastvlm.h"
#include "pippin/models/vision/vision_model.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
namespace vision = families::vision;
using Shapes = std::set<image::VisionShape>;

// The option that asks for a tower's package; null if none does.
const char* vision_option(const ConvertOptions& options) {
  if (options.image_size) return "--image-size";
  if (!options.mmproj.empty()) return "--mmproj";
  return options.compress_vision ? "--compress-vision" : nullptr;
}

// The shapes of one tile that the passes over an image of this size have.
Shapes shapes_of(const models::VisionModel& model, const image::ImageProcessor& processor,
                 const ImageSize& size) {
  Picture gray{size.width, size.height, 3, {}};
  gray.pixels.assign(static_cast<size_t>(size.width * size.height * 3), 128);
  Shapes shapes;
  for (const image::VisionPass& pass : model.passes(processor.process(gray)).passes) {
    shapes.insert(image::one_tile(pass.shape));
  }
  return shapes;
}

std::string text_of(const Shapes& shapes) {
  std::string text;
  for (const image::VisionShape& shape : shapes) {
    text += fmt::format("{}{}", text.empty() ? "" : " and ", image::to_string(shape));
  }
  return text;
}

// FastVLM's tower, which is a package itself, and the projector after it.
mil::Model packaged_tower(const models::VisionModel& model, const models::FastVlm& tower,
                          const image::VisionShape& shape, const fs::path& package) {
  if (!(tower.shape() == shape)) {
    fail(ErrorCode::InvalidArgument, "{}: takes {}, images become {}", package.string(),
         image::to_string(tower.shape()), image::to_string(shape));
  }
  mil::Model program = tower.build();
  program.metadata = model.empty_package(mil::Opset::CoreML6).metadata;
  return program;
}

models::PackagePart tower_part(const fs::path& source, const ConvertOptions& options) {
  using Kind = models::PackagePart::Kind;
  const models::VisionModel tower(source);
  models::PackagePart part;
  part.kind = options.compress_vision ? Kind::Layers : Kind::Helper;
  part.stem = vision::kPart;
  const image::VisionShape shape = choose_image_shape(tower, source, options.image_size);
  const auto package = models::FastVlm::find_tower(source);
  if (package) {
    const models::FastVlm packaged(source, *package, models::BuildOptions::Compute::Float16Package);
    part.model = packaged_tower(tower, packaged, shape, *package);
  } else {
    part.model = tower.build(shape);
  }
  if (const auto& size = options.image_size) {
    part.model.metadata.user_defined[vision::kImageKey] =
        fmt::format("{}x{}", size->height, size->width);
  }
  return part;
}

std::string meta_of(const mil::Model& language, int64_t context) {
  const auto& metadata = language.metadata.user_defined;
  JsonWriter json(2);
  json.begin_object()
      .member(vision::meta::kFamily, families::stateful::kName)
      .member("name", metadata.at(families::kMadeFromKey))
      .member("architecture", metadata.at(families::kArchitectureKey))
      .member(vision::meta::kContext, context)
      .member("pippin_version", metadata.at(families::kVersionKey))
      .end_object();
  return json.text() + "\n";
}

// Why no package of a tower can be made of the source; null if one can.
const char* no_vision_reason(const fs::path& source, const ConvertOptions& options) {
  if (options.random_weights) return "not with --random-weights";
  if (models::is_made_of_packages(source)) {
    return "not for a package: the vision tower is made of the checkpoint";
  }
  if ((!models::VisionModel::is_in(source) && !models::FastVlm::find_tower(source)) ||
      !image::ImageProcessor::is_in(models::text_folder(source))) {
    return "the model has no vision tower with an image processor";
  }
  return nullptr;
}

}  // namespace

image::VisionShape choose_image_shape(const models::VisionModel& model, const fs::path& source,
                                      const std::optional<ImageSize>& wanted) {
  const auto processor = image::ImageProcessor::open(models::text_folder(source));
  // A processor that scales images, rather than giving them a size of its own, keeps these apart.
  constexpr std::array<ImageSize, 3> kProbes = {{{448, 448}, {360, 640}, {900, 600}}};
  Shapes all;
  for (const ImageSize& probe : kProbes) all.merge(shapes_of(model, processor, probe));
  if (all.size() == 1) {
    if (wanted) {
      fail(ErrorCode::InvalidArgument,
           "--image-size {}x{}: images of any size become {} for this model", wanted->height,
           wanted->width, text_of(all));
    }
    return *all.begin();
  }
  if (!wanted) {
    fail(ErrorCode::InvalidArgument,
         "{}: the vision tower takes images of any size, a package those of one: --image-size "
         "HEIGHTxWIDTH chooses it (an output X.mlpackage is the language model alone)",
         source.string());
  }
  const Shapes shapes = shapes_of(model, processor, *wanted);
  if (shapes.size() != 1) {
    fail(ErrorCode::Unsupported,
         "--image-size {}x{}: such an image becomes {}, a package takes one shape", wanted->height,
         wanted->width, text_of(shapes));
  }
  return *shapes.begin();
}

bool makes_vision(const fs::path& source, const fs::path& output, const ConvertOptions& options) {
  const char* const option = vision_option(options);
  const bool is_asked = option != nullptr || output.extension() != families::kPackageEnding;
  if (!is_asked || options.family != families::stateful::kName) return false;
  const char* const reason = no_vision_reason(source, options);
  if (reason == nullptr) return true;
  if (option != nullptr) fail(ErrorCode::InvalidArgument, "{}: {}", option, reason);
  return false;
}

void warn_without_vision(const fs::path& source, const fs::path& output,
                         const ConvertOptions& options) {
  if (no_vision_reason(source, options) != nullptr) return;
  const bool is_package = options.family == families::stateful::kName;
  is_package ? check_package_output(output) : check_folder_output(output);  // the only line
  const std::string way = is_package
                              ? fmt::format("an output without {}", families::kPackageEnding)
                              : fmt::format("a folder of --family {}", families::stateful::kName);
  log_warn("{}: the language model alone; {} has the vision tower as well", output.string(), way);
}

void refuse_vision_options(const ConvertOptions& options, const char* what) {
  if (const char* const option = vision_option(options)) {
    fail(ErrorCode::InvalidArgument, "{}: not for {}", option, what);
  }
}

VisionParts vision_parts(const fs::path& source, const ConvertOptions& options) {
  VisionParts parts;
  // First, since its errors are about options.
  parts.tower = tower_part(source, options);
  models::BuildOptions build = build_options(options);
  models::PackedMatrices packed;
  build.packed = &packed;
  build.rows = true;
  parts.language.kind = models::PackagePart::Kind::Whole;
  parts.language.stem = vision::kLanguagePart;
  parts.language.model = models::build(source, build);
  const mil::Model& language = parts.language.model;
  if (!language.program.functions.contains(families::stateful::kRows)) {
    fail(ErrorCode::Unsupported,
         "{}: the language model takes no rows of images (an output X.mlpackage is the language "
         "model alone)",
         source.string());
  }
  parts.packed = models::packed_summary(packed);
  parts.context = models::context_of(language.description(language.default_function));
  parts.meta_json = meta_of(language, parts.context);
  return parts;
}

}  // namespace pippin::app
