#include "pippin/sound/resampler.h"

#include <algorithm>
#include <utility>

#include <samplerate.h>

#include "pippin/base/error.h"

namespace pippin::sound {

namespace {

constexpr size_t kPiece = 4096;

}  // namespace

struct Resampler::State {
  State(int64_t from, int64_t to, Input source)
      : input(std::move(source)), from_rate(from), to_rate(to) {
    ratio = static_cast<double>(to) / static_cast<double>(from);
    if (src_is_valid_ratio(ratio) == 0) {
      fail(ErrorCode::Unsupported, "cannot convert the sampling rate {} Hz to {} Hz", from, to);
    }
    int error = 0;
    filter = src_new(SRC_SINC_MEDIUM_QUALITY, 1, &error);
    if (filter == nullptr) fail(ErrorCode::Internal, "libsamplerate: {}", src_strerror(error));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { src_delete(filter); }

  size_t read(std::span<float> out);
  int64_t wanted() const { return (num_read * to_rate + from_rate / 2) / from_rate; }

  Input input;
  int64_t from_rate, to_rate;
  double ratio = 1;
  SRC_STATE* filter = nullptr;
  std::vector<float> piece = std::vector<float>(kPiece);
  std::span<const float> pending;
  bool ended = false;
  int64_t num_read = 0, num_written = 0;
};

size_t Resampler::State::read(std::span<float> out) {
  while (true) {
    if (pending.empty() && !ended) {
      const size_t count = input(piece);
      pending = std::span<const float>(piece).first(count);
      num_read += static_cast<int64_t>(count);
      ended = count == 0;
    }
    SRC_DATA data = {};
    data.data_in = pending.data();
    data.input_frames = static_cast<long>(pending.size());
    data.data_out = out.data();
    data.output_frames = static_cast<long>(out.size());
    data.end_of_input = ended ? 1 : 0;
    data.src_ratio = ratio;
    const int error = src_process(filter, &data);
    if (error != 0) fail(ErrorCode::Internal, "libsamplerate: {}", src_strerror(error));
    pending = pending.subspan(static_cast<size_t>(data.input_frames_used));
    auto count = static_cast<int64_t>(data.output_frames_gen);
    if (ended) count = std::min(count, wanted() - num_written);
    num_written += count;
    if (count > 0) return static_cast<size_t>(count);
    if (!ended) continue;
    // The filter may end a sample early.
    if (num_written == wanted() || out.empty()) return 0;
    out[0] = 0;
    ++num_written;
    return 1;
  }
}

Resampler::Resampler(int64_t from, int64_t to, Input input)
    : state_(std::make_unique<State>(from, to, std::move(input))) {}
Resampler::Resampler(Resampler&&) noexcept = default;
Resampler& Resampler::operator=(Resampler&&) noexcept = default;
Resampler::~Resampler() = default;

size_t Resampler::read(std::span<float> out) {
  return state_->read(out);
}

}  // namespace pippin::sound
