// The steps that conversions to packages share.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "pippin/app/convert/convert.h"
#include "pippin/compress/recipe.h"

namespace pippin::app {

// The options of models::build() among those of a conversion to the family `stateful`.
models::BuildOptions build_options(const ConvertOptions& options);

// Verifies the model, compresses it by the recipe, and writes it as the package `output` along with
// `files`; `start` is the time at which the work began. The caller reports the context and the loss
// of packed weights. Throws as mil::verify, compress::compress and write_output.
ConvertResult write_converted(mil::Model& model, const std::filesystem::path& output,
                              std::vector<mil::ExtraFile> files, const ConvertOptions& options,
                              const std::optional<compress::Recipe>& recipe,
                              std::chrono::steady_clock::time_point start);

}  // namespace pippin::app
