// convert() for image classifiers and models of maps: a package with an image for input, and labels
// or a map for outputs.
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/app/convert/convert.h"
#include "pippin/compress/recipe.h"

namespace pippin::app {

// Whether the source is the folder of such a model, of the default family.
bool makes_image_package(const std::filesystem::path& source, const ConvertOptions& options);

// Converts with checked options and the resulting recipe. Throws as choose_image_shape();
// Unsupported if the processor does more to pixels than scale them.
ConvertResult convert_image(const std::filesystem::path& source,
                            const std::filesystem::path& output, const ConvertOptions& options,
                            const std::optional<compress::Recipe>& recipe);

}  // namespace pippin::app
