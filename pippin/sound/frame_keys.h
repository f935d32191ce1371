// Keys that several kinds of features share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pippin/sound/extractor_config.h"

namespace pippin::sound {

// Throws Unsupported for sizes whose transform would be slow: those with a large prime factor.
size_t read_fft_size(ExtractorConfig& config, std::string_view key, int64_t fallback);
// Samples from frame to frame.
size_t read_hop(ExtractorConfig& config, std::string_view key, int64_t fallback);
// Samples of a frame, at most `fft_size`.
size_t read_frame_length(ExtractorConfig& config, std::string_view key, int64_t fallback,
                         size_t fft_size);
// Throws LimitExceeded if `frames` frames of `bands` values are too many for a buffer; `key` is
// named in the message.
void check_size(const ExtractorConfig& config, std::string_view key, size_t frames, size_t bands);

}  // namespace pippin::sound
