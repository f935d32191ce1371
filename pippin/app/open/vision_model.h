// Opens the vision tower of a model.
#pragma once

#include <filesystem>
#include <memory>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/vision/vision_tower.h"

namespace pippin::app {

// Whether a folder's model has a vision tower that is supported.
bool has_vision_tower(const std::filesystem::path& folder);

// Computes in fp32 with the weights of the folder's checkpoint. Throws the errors of reading them.
std::unique_ptr<runtime::VisionTower> open_vision_tower(
    const std::filesystem::path& folder, std::shared_ptr<ThreadPool> pool,
    const runtime::VisionTowerOptions& options = {});

}  // namespace pippin::app
