// Samples without a header.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/sound/sound_source.h"

namespace pippin::sound {

namespace {

static_assert(std::endian::native == std::endian::little);

[[noreturn]] void fail_partial_frame(const std::string& name, size_t bytes, int channels) {
  fail(ErrorCode::InvalidFile, "{}: ends with {} bytes of a frame of {}", name, bytes,
       2 * channels);
}

void convert_pcm16(const char* bytes, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    int16_t value = 0;
    std::memcpy(&value, bytes + 2 * i, 2);
    out[i] = static_cast<float>(value) / 32768;
  }
}

class PcmStream : public SoundSource {
 public:
  PcmStream(std::istream& stream, std::string name) : stream_(stream), name_(std::move(name)) {}

  size_t read(std::span<float> out) override {
    const size_t frame_bytes = 2 * static_cast<size_t>(channels);
    buffer_.resize(out.size() / static_cast<size_t>(channels) * frame_bytes);
    stream_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    if (stream_.bad()) fail(ErrorCode::Io, "{}: cannot read", name_);
    const auto bytes = static_cast<size_t>(stream_.gcount());
    if (bytes % frame_bytes != 0) fail_partial_frame(name_, bytes % frame_bytes, channels);
    convert_pcm16(buffer_.data(), out.first(bytes / 2));
    return bytes / frame_bytes;
  }

 private:
  std::istream& stream_;
  std::string name_;
  std::vector<char> buffer_;
};

// Samples in memory, each converted by `Convert`.
template <typename Convert>
class MemorySource : public SoundSource {
 public:
  MemorySource(size_t num_samples, Convert convert)
      : num_samples_(num_samples), convert_(convert) {}

  size_t read(std::span<float> out) override {
    const auto width = static_cast<size_t>(channels);
    const size_t count = std::min(out.size() / width, (num_samples_ - position_) / width);
    convert_(position_, out.first(count * width));
    position_ += count * width;
    return count;
  }

 private:
  size_t num_samples_, position_ = 0;
  Convert convert_;
};

template <typename Source>
std::unique_ptr<SoundSource> with_format(std::unique_ptr<Source> source, int64_t sampling_rate,
                                         int channels) {
  if (channels < 1) fail(ErrorCode::InvalidArgument, "{} channels (at least 1)", channels);
  source->sampling_rate = sampling_rate;
  source->channels = channels;
  return source;
}

template <typename Convert>
std::unique_ptr<SoundSource> from_memory(size_t num_samples, int64_t sampling_rate, int channels,
                                         Convert convert) {
  auto source = with_format(std::make_unique<MemorySource<Convert>>(num_samples, convert),
                            sampling_rate, channels);
  source->num_frames = static_cast<int64_t>(num_samples) / channels;
  return source;
}

}  // namespace

std::unique_ptr<SoundSource> open_pcm16(std::istream& stream, const std::string& name,
                                        int64_t sampling_rate, int channels) {
  return with_format(std::make_unique<PcmStream>(stream, name), sampling_rate, channels);
}

std::unique_ptr<SoundSource> open_pcm16(ByteSpan samples, const std::string& name,
                                        int64_t sampling_rate, int channels) {
  const char* bytes = reinterpret_cast<const char*>(samples.data());
  auto source = from_memory(
      samples.size() / 2, sampling_rate, channels,
      [bytes](size_t first, std::span<float> out) { convert_pcm16(bytes + 2 * first, out); });
  const size_t partial = samples.size() % (2 * static_cast<size_t>(channels));
  if (partial != 0) fail_partial_frame(name, partial, channels);
  return source;
}

std::unique_ptr<SoundSource> open_floats(std::span<const float> samples, int64_t sampling_rate,
                                         int channels) {
  auto source = from_memory(
      samples.size(), sampling_rate, channels, [samples](size_t first, std::span<float> out) {
        std::copy_n(samples.begin() + static_cast<ptrdiff_t>(first), out.size(), out.begin());
      });
  if (samples.size() % static_cast<size_t>(channels) != 0) {
    fail(ErrorCode::InvalidArgument, "the number of samples, {}, is not a multiple of {} channels",
         samples.size(), channels);
  }
  return source;
}

}  // namespace pippin::sound
