#include "pippin/sound/frame_keys.h"

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::sound {

namespace {

constexpr int64_t kMaxFftSize = 1 << 14, kMaxHop = 1 << 16;
constexpr size_t kMaxPrime = 61;
constexpr size_t kMaxValues = size_t{1} << 23;  // 32 MiB of floats

}  // namespace

size_t read_fft_size(ExtractorConfig& config, std::string_view key, int64_t fallback) {
  const auto size = static_cast<size_t>(config.integer(key, fallback, 2, kMaxFftSize));
  size_t rest = size;
  for (size_t factor = 2; factor <= kMaxPrime; ++factor) {
    while (rest % factor == 0) rest /= factor;
  }
  if (rest != 1) {
    config.unsupported(key, fmt::format("{}, with a prime factor above {},", size, kMaxPrime));
  }
  return size;
}

size_t read_hop(ExtractorConfig& config, std::string_view key, int64_t fallback) {
  return static_cast<size_t>(config.integer(key, fallback, 1, kMaxHop));
}

size_t read_frame_length(ExtractorConfig& config, std::string_view key, int64_t fallback,
                         size_t fft_size) {
  return static_cast<size_t>(config.integer(key, fallback, 2, static_cast<int64_t>(fft_size)));
}

void check_size(const ExtractorConfig& config, std::string_view key, size_t frames, size_t bands) {
  if (frames <= kMaxValues / bands) return;
  fail(ErrorCode::LimitExceeded, "{}: {} frames of {} values (limit: {} values)",
       config.json().where(key), frames, bands, kMaxValues);
}

}  // namespace pippin::sound
