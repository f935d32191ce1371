// convert() for the two families that are folders of packages.
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/app/convert.h"
#include "pippin/compress/recipe.h"

namespace pippin::app {

// With options that are checked, and the recipe that they ask for.
ConvertResult convert_to_folder(const std::filesystem::path& source,
                                const std::filesystem::path& output, const ConvertOptions& options,
                                const std::optional<compress::Recipe>& recipe);

}  // namespace pippin::app
