// Static embeddings: sentence-transformers' StaticEmbedding and model2vec. A text's embedding is
// the mean of its tokens' rows of a table.
#pragma once

#include <filesystem>

#include "pippin/mil/model.h"
#include "pippin/models/encoders/encoder_model.h"

namespace pippin::models {

// For folders for which is_static_embedding() is true. Throws like build_encoder().
mil::Model build_static_embedding(const std::filesystem::path& source,
                                  const EncoderBuildOptions& options);

}  // namespace pippin::models
