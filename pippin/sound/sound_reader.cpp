#include "pippin/sound/sound_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/sound/resampler.h"
#include "pippin/sound/sound_source.h"

namespace pippin::sound {

namespace {

constexpr int64_t kMinRate = 1000, kMaxRate = 768000;
constexpr size_t kPieceFrames = 4096;

}  // namespace

struct SoundReader::State {
  State(std::unique_ptr<SoundSource> input, std::string input_name, int64_t wanted_rate,
        const SoundLimits& sound_limits);

  // Reads frames of the source, as the mean of their channels.
  size_t read_mono(std::span<float> out);
  void check_length(int64_t frames) const;

  std::shared_ptr<const MappedFile> file;
  std::unique_ptr<SoundSource> source;
  std::string name;
  int64_t rate;
  SoundLimits limits;
  std::optional<Resampler> resampler;
  std::vector<float> frames;  // interleaved
  int64_t num_frames = 0;     // read so far
};

SoundReader::State::State(std::unique_ptr<SoundSource> input, std::string input_name,
                          int64_t wanted_rate, const SoundLimits& sound_limits)
    : source(std::move(input)),
      name(std::move(input_name)),
      rate(wanted_rate == 0 ? source->sampling_rate : wanted_rate),
      limits(sound_limits) {
  for (int64_t checked : {source->sampling_rate, rate}) {
    if (checked < kMinRate || checked > kMaxRate) {
      fail(ErrorCode::Unsupported, "{}: sampling rate of {} Hz ({} to {} are supported)", name,
           checked, kMinRate, kMaxRate);
    }
  }
  if (source->channels < 1 || source->channels > limits.max_channels) {
    fail(ErrorCode::LimitExceeded, "{}: {} channels (limit: {})", name, source->channels,
         limits.max_channels);
  }
  if (source->num_frames) check_length(*source->num_frames);
  if (rate != source->sampling_rate) {
    resampler.emplace(source->sampling_rate, rate,
                      [this](std::span<float> out) { return read_mono(out); });
  }
}

void SoundReader::State::check_length(int64_t length) const {
  const double seconds = static_cast<double>(length) / static_cast<double>(source->sampling_rate);
  if (seconds <= limits.max_seconds) return;
  fail(ErrorCode::LimitExceeded, "{}: {:.0f} s of sound (limit: {:.0f} s)", name, seconds,
       limits.max_seconds);
}

size_t SoundReader::State::read_mono(std::span<float> out) {
  const auto channels = static_cast<size_t>(source->channels);
  const size_t wanted = std::min(out.size(), kPieceFrames);
  frames.resize(wanted * channels);
  const size_t count = source->read(frames);
  if (count == 0 && source->is_exact && source->num_frames && num_frames < *source->num_frames) {
    fail(ErrorCode::InvalidFile, "{}: ends after {} frames, the header states {}", name, num_frames,
         *source->num_frames);
  }
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (size_t channel = 0; channel < channels; ++channel) {
      const float sample = frames[i * channels + channel];
      if (!std::isfinite(sample)) {
        fail(ErrorCode::InvalidFile, "{}: the sample of channel {} at {} ({:.3f} s) is {}", name,
             channel, num_frames + static_cast<int64_t>(i),
             static_cast<double>(num_frames + static_cast<int64_t>(i)) /
                 static_cast<double>(source->sampling_rate),
             sample);
      }
      sum += sample;
    }
    out[i] = static_cast<float>(sum / static_cast<double>(channels));
  }
  num_frames += static_cast<int64_t>(count);
  check_length(num_frames);
  return count;
}

SoundReader::SoundReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
SoundReader::SoundReader(SoundReader&&) noexcept = default;
SoundReader& SoundReader::operator=(SoundReader&&) noexcept = default;
SoundReader::~SoundReader() = default;

SoundReader SoundReader::open(const std::filesystem::path& path, int64_t sampling_rate,
                              const SoundLimits& limits) {
  auto file = MappedFile::open(path);
  SoundReader reader = parse(file->bytes(), path.string(), sampling_rate, limits);
  reader.state_->file = std::move(file);
  return reader;
}

SoundReader SoundReader::parse(ByteSpan file, const std::string& name, int64_t sampling_rate,
                               const SoundLimits& limits) {
  return SoundReader(
      std::make_unique<State>(open_sound_file(file, name), name, sampling_rate, limits));
}

SoundReader SoundReader::pcm16(std::istream& stream, const std::string& name,
                               const RawFormat& format, int64_t sampling_rate,
                               const SoundLimits& limits) {
  return SoundReader(
      std::make_unique<State>(open_pcm16(stream, name, format.sampling_rate, format.channels), name,
                              sampling_rate, limits));
}

SoundReader SoundReader::pcm16(ByteSpan samples, const std::string& name, const RawFormat& format,
                               int64_t sampling_rate, const SoundLimits& limits) {
  return SoundReader(
      std::make_unique<State>(open_pcm16(samples, name, format.sampling_rate, format.channels),
                              name, sampling_rate, limits));
}

SoundReader SoundReader::floats(std::span<const float> samples, const std::string& name,
                                const RawFormat& format, int64_t sampling_rate,
                                const SoundLimits& limits) {
  return SoundReader(std::make_unique<State>(
      open_floats(samples, format.sampling_rate, format.channels), name, sampling_rate, limits));
}

int64_t SoundReader::sampling_rate() const {
  return state_->rate;
}

RawFormat SoundReader::input_format() const {
  return {state_->source->sampling_rate, state_->source->channels};
}

std::optional<int64_t> SoundReader::stated_length() const {
  const auto frames = state_->source->num_frames;
  if (!frames) return std::nullopt;
  const double ratio =
      static_cast<double>(state_->rate) / static_cast<double>(state_->source->sampling_rate);
  return std::llround(static_cast<double>(*frames) * ratio);
}

size_t SoundReader::read(std::span<float> out) {
  size_t filled = 0;
  while (filled < out.size()) {
    const auto rest = out.subspan(filled);
    const size_t count =
        state_->resampler ? state_->resampler->read(rest) : state_->read_mono(rest);
    if (count == 0) break;
    filled += count;
  }
  return filled;
}

std::vector<float> SoundReader::read_all() {
  constexpr size_t kPiece = 1 << 15;
  std::vector<float> samples;
  // A small file can state any length.
  samples.reserve(static_cast<size_t>(std::min<int64_t>(stated_length().value_or(0), kPiece)));
  while (true) {
    const size_t size = samples.size();
    const size_t needed = size + kPiece;
    if (samples.capacity() < needed) samples.reserve(std::max(needed, size + size / 4));
    samples.resize(needed);
    const size_t count = read(std::span(samples).subspan(size));
    samples.resize(size + count);
    if (count < kPiece) return samples;
  }
}

std::vector<float> read_sound(const std::filesystem::path& path, int64_t sampling_rate,
                              const SoundLimits& limits) {
  return SoundReader::open(path, sampling_rate, limits).read_all();
}

std::vector<float> read_sound(ByteSpan file, const std::string& name, int64_t sampling_rate,
                              const SoundLimits& limits) {
  return SoundReader::parse(file, name, sampling_rate, limits).read_all();
}

}  // namespace pippin::sound
