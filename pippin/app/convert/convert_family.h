// convert() for the families that consist of several packages.
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/app/convert/convert.h"
#include "pippin/compress/recipe.h"

namespace pippin::app {

// Converts with checked options and the resulting recipe.
ConvertResult convert_to_folder(const std::filesystem::path& source,
                                const std::filesystem::path& output, const ConvertOptions& options,
                                const std::optional<compress::Recipe>& recipe);

}  // namespace pippin::app
