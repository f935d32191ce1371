// convert() for image classifiers: a package with an image for input and labels for outputs.
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/app/convert/convert.h"
#include "pippin/compress/recipe.h"

namespace pippin::app {

// Whether the source is the folder of an image classifier, of the default family.
bool makes_classifier(const std::filesystem::path& source, const ConvertOptions& options);

// Converts with checked options and the resulting recipe. Throws as choose_image_shape();
// Unsupported if the processor does more to pixels than scale them.
ConvertResult convert_classifier(const std::filesystem::path& source,
                                 const std::filesystem::path& output, const ConvertOptions& options,
                                 const std::optional<compress::Recipe>& recipe);

}  // namespace pippin::app
