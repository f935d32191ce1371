// convert() for models that embed or score texts, and for encoder-decoder models: the families
// `encoder` and `encoder-decoder`.
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/app/convert/convert.h"
#include "pippin/compress/recipe.h"

namespace pippin::app {

// Whether the source is converted to one of these families: `encoder` is requested, or the source's
// files describe a model that is not a causal language model.
bool makes_encoder(const std::filesystem::path& source, const ConvertOptions& options);

// Throws InvalidArgument for options of other families, which are not for `what`.
void check_encoder_options(const ConvertOptions& options, const char* what = "--family encoder");

// Converts with checked options and the resulting recipe.
ConvertResult convert_encoder(const std::filesystem::path& source,
                              const std::filesystem::path& output, const ConvertOptions& options,
                              const std::optional<compress::Recipe>& recipe);

}  // namespace pippin::app
