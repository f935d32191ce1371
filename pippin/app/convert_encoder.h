// convert() for models that embed or score texts, and for those of an encoder and a decoder: the
// families `encoder` and `rewriter`.
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/app/convert.h"
#include "pippin/compress/recipe.h"

namespace pippin::app {

// Whether the source becomes a package of one of these families: `encoder` is asked for, or the
// source's files say that it is no causal language model.
bool makes_encoder(const std::filesystem::path& source, const ConvertOptions& options);

// Throws InvalidArgument for options of other families.
void check_encoder_options(const ConvertOptions& options);

// With options that are checked, and the recipe that they ask for.
ConvertResult convert_encoder(const std::filesystem::path& source,
                              const std::filesystem::path& output, const ConvertOptions& options,
                              const std::optional<compress::Recipe>& recipe);

}  // namespace pippin::app
