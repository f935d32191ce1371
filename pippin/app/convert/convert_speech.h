// convert() for models that recognize speech: the family `speech`.
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/app/convert/convert.h"
#include "pippin/compress/recipe.h"

namespace pippin::app {

// Whether the source is a folder with such a model and no other family is requested.
bool makes_speech(const std::filesystem::path& source, const ConvertOptions& options);

// Converts with checked options and the resulting recipe. Throws InvalidArgument for options of
// other families.
ConvertResult convert_speech(const std::filesystem::path& source,
                             const std::filesystem::path& output, const ConvertOptions& options,
                             const std::optional<compress::Recipe>& recipe);

}  // namespace pippin::app
