#include "pippin/speech/voice/silero.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/families/silero.h"
#include "pippin/runtime/package/package_ports.h"

namespace pippin::speech {

namespace silero = families::silero;

SileroVoice::SileroVoice(const std::filesystem::path& package, std::string name, ThreadPool& pool,
                         const engine::ComputeOptions& compute)
    : part_(package, std::move(name), compute) {
  constexpr const char* kInputs[] = {silero::kAudio, silero::kHidden, silero::kCell};
  check_known_inputs(part_, kInputs);
  const int64_t samples = input_shape(part_, silero::kAudio, true, {1, runtime::kAnySize})[1];
  if (samples <= silero::kContext) {
    fail(ErrorCode::InvalidFile, "{}: '{}' has {} samples, {} of them those before a window",
         part_.name(), silero::kAudio, samples, silero::kContext);
  }
  window_ = static_cast<size_t>(samples - silero::kContext);
  const auto state = input_shape(part_, silero::kHidden, true, {1, runtime::kAnySize});
  input_shape(part_, silero::kCell, true, state);
  part_.prepare(pool);
  output_shape(part_, silero::kProbability, {1, 1, 1});
  output_shape(part_, silero::kNewHidden, state);
  output_shape(part_, silero::kNewCell, state);
  audio_ = part_.input_port(silero::kAudio);
  hidden_ = part_.input_port(silero::kHidden);
  cell_ = part_.input_port(silero::kCell);
  probability_ = part_.output_port(silero::kProbability);
  new_hidden_ = part_.output_port(silero::kNewHidden);
  new_cell_ = part_.output_port(silero::kNewCell);
}

int64_t SileroVoice::sampling_rate() const {
  return silero::kSamplingRate;
}

std::vector<float> SileroVoice::probabilities(std::span<const float> samples) {
  const auto bad = std::find_if(samples.begin(), samples.end(),
                                [](float sample) { return !std::isfinite(sample); });
  if (bad != samples.end()) {
    fail(ErrorCode::InvalidArgument, "sample {} is {}", bad - samples.begin(), *bad);
  }
  std::vector<float> found;
  found.reserve((samples.size() + window_ - 1) / window_);
  const std::lock_guard guard(mutex_);
  for (const size_t port : {audio_, hidden_, cell_}) {
    const std::span<float> input = part_.input(port);
    std::fill(input.begin(), input.end(), 0.0F);
  }
  for (size_t begin = 0; begin < samples.size(); begin += window_) {
    check_cancel();
    const std::span<float> audio = part_.input(audio_);
    std::copy_n(audio.end() - silero::kContext, silero::kContext, audio.begin());
    const auto window = samples.subspan(begin, std::min(window_, samples.size() - begin));
    const auto rest = std::copy(window.begin(), window.end(), audio.begin() + silero::kContext);
    std::fill(rest, audio.end(), 0.0F);
    part_.execution().run();
    found.push_back(part_.output(probability_).front());
    const auto carry = [&](size_t from, size_t to) {
      const std::span<const float> state = part_.output(from);
      std::copy(state.begin(), state.end(), part_.input(to).begin());
    };
    carry(new_hidden_, hidden_);
    carry(new_cell_, cell_);
  }
  return found;
}

}  // namespace pippin::speech
