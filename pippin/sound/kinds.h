// The table of feature extractors. A new kind is one file and one row.
#pragma once

#include <memory>

#include "pippin/sound/feature_kind.h"

namespace pippin::sound {

std::shared_ptr<FeatureKind> read_whisper(ExtractorConfig& config);

struct KindRow {
  std::string_view type;
  ReadKind read;
};
// clang-format off
inline constexpr KindRow kKinds[] = {
    {"Qwen3ASRFeatureExtractor", read_whisper},
    {"WhisperFeatureExtractor", read_whisper},
};
// clang-format on

}  // namespace pippin::sound
