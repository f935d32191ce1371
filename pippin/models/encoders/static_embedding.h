// Static embeddings: sentence-transformers' StaticEmbedding and model2vec. A text's embedding is
// the mean of the rows that a table has for its tokens.
#pragma once

#include <filesystem>

#include "pippin/mil/model.h"
#include "pippin/models/encoders/encoder_model.h"

namespace pippin::models {

// For folders of which is_static_embedding() is true. Throws as build_encoder().
mil::Model build_static_embedding(const std::filesystem::path& source,
                                  const EncoderBuildOptions& options);

}  // namespace pippin::models
