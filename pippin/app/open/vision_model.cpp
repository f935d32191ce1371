#include "pippin/app/open/vision_model.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/models/vision/fastvlm.h"
#include "pippin/models/vision/vision_model.h"
#include "pippin/runtime/vision/coreml_llm_tower.h"
#include "pippin/runtime/vision/package_tower.h"

namespace pippin::app {

namespace fs = std::filesystem;

namespace {

runtime::VisionTowerOptions tower_options(const engine::ComputeOptions& compute) {
  runtime::VisionTowerOptions options{.compute = compute};
  options.compute.device = nullptr;
  return options;
}

// `open` returns the input of images.
template <typename Open>
void set_images(runtime::LoadedModel& model, const Open& open) try {
  model.images = open();
} catch (const Error& error) {
  if (error.code() != ErrorCode::Unsupported) throw;
  model.images_error = error;  // texts still work
}

// The same with the processor of a folder; `open` returns the tower.
template <typename Open>
void set_images(const fs::path& folder, runtime::LoadedModel& model, const Open& open) {
  set_images(model, [&] {
    return std::make_shared<runtime::ImageInput>(
        image::ImageProcessor::open(folder), image::ImagePrompt::open(folder), open(),
        model.model->context(), image::ImageProcessor::open_video(folder));
  });
}

}  // namespace

bool has_vision_tower(const fs::path& folder) {
  return models::VisionModel::is_in(folder);
}

std::unique_ptr<runtime::VisionTower> open_vision_tower(
    const fs::path& folder, std::shared_ptr<ThreadPool> pool,
    const runtime::VisionTowerOptions& options) {
  const auto model = std::make_shared<const models::VisionModel>(
      folder, models::VisionBuildOptions{.compute = models::BuildOptions::Compute::Float32Direct});
  return open_vision_tower(model, std::move(pool), options);
}

std::unique_ptr<runtime::VisionTower> open_vision_tower(
    const std::shared_ptr<const models::VisionModel>& model, std::shared_ptr<ThreadPool> pool,
    const runtime::VisionTowerOptions& options) {
  runtime::VisionPrograms programs;
  programs.passes = [model](const image::ImageInputs& inputs) { return model->passes(inputs); };
  programs.build = [model](const image::VisionShape& shape) { return model->build(shape); };
  return std::make_unique<runtime::VisionTower>(std::move(programs), std::move(pool), options);
}

void open_images(const fs::path& folder, const engine::ComputeOptions& compute,
                 runtime::LoadedModel& model) {
  if (!model.model->rows() || !image::ImageProcessor::is_in(folder)) return;
  if (const auto package = models::FastVlm::find_tower(folder)) {
    set_images(folder, model, [&] {
      const auto tower = std::make_shared<const models::FastVlm>(folder, *package);
      return std::make_unique<runtime::VisionTower>(
          runtime::VisionPrograms{
              [tower](const image::ImageInputs& inputs) { return tower->passes(inputs); },
              [tower](const image::VisionShape&) { return tower->build(); }},
          model.pool, tower_options(compute));
    });
    return;
  }
  if (!has_vision_tower(folder)) return;
  set_images(folder, model,
             [&] { return open_vision_tower(folder, model.pool, tower_options(compute)); });
}

void open_package_images(const fs::path& folder, const fs::path& tower,
                         const engine::ComputeOptions& compute, runtime::LoadedModel& model) {
  if (!model.model->rows()) {
    fail(ErrorCode::Unsupported,
         "{}: the language model next to {} takes no rows of images; name its package to run it "
         "with text alone",
         folder.string(), tower.filename().string());
  }
  set_images(folder, model, [&] {
    return std::make_unique<runtime::VisionTower>(
        runtime::package_programs(tower, models::vision_passes(folder)), model.pool,
        tower_options(compute));
  });
}

void open_bundle_images(const fs::path& folder, const engine::ComputeOptions& compute,
                        runtime::LoadedModel& model) {
  set_images(model, [&] {
    runtime::CoreMlLlmTower tower =
        runtime::open_coreml_llm_tower(folder, model.model->rows().value().width);
    return std::make_shared<runtime::ImageInput>(
        std::move(tower.processor), std::move(tower.prompt),
        std::make_unique<runtime::VisionTower>(std::move(tower.programs), model.pool,
                                               tower_options(compute)),
        model.model->context());
  });
}

}  // namespace pippin::app
