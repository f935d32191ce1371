// A vision tower in a package (families/vision.h): one program, for one shape of images.
#pragma once

#include <filesystem>
#include <functional>

#include "pippin/image/image_inputs.h"
#include "pippin/image/vision_pass.h"
#include "pippin/runtime/vision/vision_tower.h"

namespace pippin::runtime {

// The programs of a tower whose `passes` are those of its model: passes over several tiles are
// divided into those of the package. They throw InvalidArgument for an image of another shape than
// the package's, and Unsupported if the rows of several tiles are not those of each. The package is
// read again when it is planned. Throws the errors of mil::read_package, and Unsupported for a
// package with another interface.
VisionPrograms package_programs(
    const std::filesystem::path& package,
    std::function<image::VisionPasses(const image::ImageInputs& inputs)> passes);

}  // namespace pippin::runtime
