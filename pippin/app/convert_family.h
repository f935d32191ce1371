// pippin convert --family anemll|windowed: a model folder becomes a folder of packages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "pippin/app/convert.h"
#include "pippin/app/family_options.h"
#include "pippin/compress/recipe.h"

namespace pippin::app {

// As convert(), for the two families that are folders: `output` is replaced as a whole when
// everything is written, and only where it is such a folder or empty.
ConvertResult convert_to_folder(const std::filesystem::path& source,
                                const std::filesystem::path& output, const FamilyOptions& options,
                                const std::function<void(uint64_t, uint64_t)>& progress,
                                const std::optional<compress::Recipe>& recipe = std::nullopt);

}  // namespace pippin::app
