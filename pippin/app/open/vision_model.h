// Opens the vision tower of a model.
#pragma once

#include <filesystem>
#include <memory>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/models/vision/vision_model.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/vision/image_input.h"
#include "pippin/runtime/vision/vision_tower.h"

namespace pippin::app {

// Whether a folder's model has a vision tower that is supported.
bool has_vision_tower(const std::filesystem::path& folder);

// Computes in fp32 with the weights of the folder's checkpoint. Throws the errors of reading them.
std::unique_ptr<runtime::VisionTower> open_vision_tower(
    const std::filesystem::path& folder, std::shared_ptr<ThreadPool> pool,
    const runtime::VisionTowerOptions& options = {});

// The same of an opened model, which computes as it was opened.
std::unique_ptr<runtime::VisionTower> open_vision_tower(
    const std::shared_ptr<const models::VisionModel>& model, std::shared_ptr<ThreadPool> pool,
    const runtime::VisionTowerOptions& options = {});

// Opens what images pass through on their way into a model of that folder: LoadedModel::images, or
// images_error if the processor is not supported. Neither is set if its architecture has no tower
// or the folder no image processor. The tower is computed on the CPU, with the other options.
// Throws the errors of reading the files, except Unsupported.
void open_images(const std::filesystem::path& folder, const engine::ComputeOptions& compute,
                 runtime::LoadedModel& model);

// The same for a folder of packages with config.json and the processor's files, and its package of
// the tower, which takes images of one shape (runtime/vision/package_tower.h). Throws Unsupported
// if the language model's package takes no rows.
void open_package_images(const std::filesystem::path& folder, const std::filesystem::path& tower,
                         const engine::ComputeOptions& compute, runtime::LoadedModel& model);

// The same for CoreML-LLM's bundle and the folder of its tower, which has the sizes of the image
// processor. Throws InvalidFile for a tower of another width than the language model.
void open_bundle_images(const std::filesystem::path& folder, const engine::ComputeOptions& compute,
                        runtime::LoadedModel& model);

}  // namespace pippin::app
