#include "pippin/speech/recognition/parakeet_packages.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/families/fluidaudio.h"
#include "pippin/io/json.h"
#include "pippin/runtime/package/package_ports.h"

namespace pippin::speech {
namespace {

namespace fluidaudio = families::fluidaudio;
using runtime::FixedPart;

// The only package whose name begins with a part's.
FixedPart open_parakeet_part(runtime::PackageFolder& folder, const char* part,
                             const engine::ComputeOptions& compute) {
  std::vector<std::string> stems;
  for (const std::string& stem : folder.stems()) {
    if (stem == part) stems = {stem};
    if (stem == part) break;
    if (stem.starts_with(part)) stems.push_back(stem);
  }
  if (stems.empty()) {
    fail(ErrorCode::NotFound, "{}: holds no {}, a part of Parakeet's models",
         folder.path().string(), part);
  }
  if (stems.size() > 1) {
    fail(ErrorCode::InvalidArgument, "{}: several forms of {}: keep one of {}",
         folder.path().string(), part, fmt::join(stems, ", "));
  }
  return {folder.package(stems.front()), folder.file_name(stems.front()), compute};
}

// The first number of an output, an integer in whatever type.
int64_t int_of(const FixedPart& part, size_t port) {
  const engine::Execution& run = part.execution();
  if (!run.plan().outputs()[port].is_float) return run.int_output(port).front();
  const float value = run.float_output(port).front();
  return std::isfinite(value) ? std::llround(value) : -1;
}

void copy_output(const FixedPart& from, size_t output, FixedPart& to, size_t input) {
  const std::span<const float> values = from.output(output);
  std::copy(values.begin(), values.end(), to.input(input).begin());
}

}  // namespace

bool PieceVocabulary::is_in(const std::filesystem::path& folder) {
  return std::filesystem::is_regular_file(folder / fluidaudio::kVocabularyFile);
}

PieceVocabulary PieceVocabulary::read(const std::filesystem::path& file) {
  const Json json = Json::load(file, {.max_bytes = size_t{64} << 20});
  PieceVocabulary vocabulary;
  std::vector<std::string>& texts = vocabulary.texts_;
  if (json.is_object()) {
    texts.resize(json.size());
    std::vector<bool> known(texts.size());
    for (const auto& [key, piece] : json.members()) {
      size_t id = 0;
      if (!parse_number(key, id) || id >= texts.size() || known[id]) {
        fail(ErrorCode::InvalidFile, "{}: \"{}\" is not one of the ids 0 to {}, each once",
             file.filename().string(), key.substr(0, 40), std::ssize(texts) - 1);
      }
      known[id] = true;
      texts[id] = piece.as_string();
    }
  } else {
    texts = json.as_strings();
  }
  if (texts.empty()) json.invalid("has no tokens");
  constexpr std::string_view kWordBegins = "\u2581";
  for (std::string& text : texts) {
    if (text.size() > 2 && text.starts_with('<') && text.ends_with('>')) text.clear();
    for (size_t at = text.find(kWordBegins); at != text.npos; at = text.find(kWordBegins, at)) {
      text.replace(at, kWordBegins.size(), " ");
    }
  }
  return vocabulary;
}

std::string PieceVocabulary::text(int32_t id) const {
  return id < 0 || id >= size() ? std::string() : texts_[static_cast<size_t>(id)];
}

// The packages Decoder and JointDecision, one token and one step at a time.
class ParakeetPackages::Steps final : public runtime::TransducerNetworks {
 public:
  Steps(FixedPart decoder, FixedPart joint, int64_t width, ThreadPool& pool)
      : decoder_(std::move(decoder)), joint_(std::move(joint)) {
    constexpr const char* kDecoderInputs[] = {fluidaudio::kTargets, fluidaudio::kTargetLength,
                                              fluidaudio::kHidden, fluidaudio::kCell};
    constexpr const char* kJointInputs[] = {fluidaudio::kEncodedStep, fluidaudio::kPredictedStep};
    check_known_inputs(decoder_, kDecoderInputs);
    check_known_inputs(joint_, kJointInputs);
    input_shape(decoder_, fluidaudio::kTargets, false, {1, 1});
    input_shape(decoder_, fluidaudio::kTargetLength, false, {1});
    const auto state =
        input_shape(decoder_, fluidaudio::kHidden, true, {runtime::kAnySize, 1, runtime::kAnySize});
    input_shape(decoder_, fluidaudio::kCell, true, state);
    input_shape(joint_, fluidaudio::kEncodedStep, true, {1, width, 1});
    const auto predicted =
        input_shape(joint_, fluidaudio::kPredictedStep, true, {1, runtime::kAnySize, 1});
    decoder_.prepare(pool);
    joint_.prepare(pool);
    output_shape(decoder_, fluidaudio::kPredicted, predicted);
    output_shape(decoder_, fluidaudio::kNewHidden, state);
    output_shape(decoder_, fluidaudio::kNewCell, state);
    targets_ = decoder_.input_port(fluidaudio::kTargets);
    target_length_ = decoder_.input_port(fluidaudio::kTargetLength);
    hidden_ = decoder_.input_port(fluidaudio::kHidden);
    cell_ = decoder_.input_port(fluidaudio::kCell);
    predicted_ = decoder_.output_port(fluidaudio::kPredicted);
    new_hidden_ = decoder_.output_port(fluidaudio::kNewHidden);
    new_cell_ = decoder_.output_port(fluidaudio::kNewCell);
    encoded_step_ = joint_.input_port(fluidaudio::kEncodedStep);
    predicted_step_ = joint_.input_port(fluidaudio::kPredictedStep);
    token_ = joint_.output_port(fluidaudio::kToken);
    probability_ = joint_.output_port(fluidaudio::kProbability);
    duration_ = joint_.output_port(fluidaudio::kDuration);
    if (!joint_.execution().plan().outputs()[probability_].is_float) {
      fail(ErrorCode::InvalidFile, "{}: '{}' is not a float", joint_.name(),
           fluidaudio::kProbability);
    }
  }

  // For states [width, steps], which must outlive the decoding.
  void begin(std::span<const float> encoded, int64_t steps, int32_t last) {
    encoded_ = encoded;
    steps_ = static_cast<size_t>(steps);
    last_ = last;
    for (const size_t port : {hidden_, cell_}) {
      const std::span<float> state = decoder_.input(port);
      std::fill(state.begin(), state.end(), 0.0F);
    }
  }

  void predict(int32_t token) override {
    decoder_.execution().int_input(targets_).front() = token;
    decoder_.execution().int_input(target_length_).front() = 1;
    decoder_.execution().run();
    copy_output(decoder_, new_hidden_, decoder_, hidden_);
    copy_output(decoder_, new_cell_, decoder_, cell_);
    copy_output(decoder_, predicted_, joint_, predicted_step_);
  }

  runtime::TransducerChoice choose(int64_t frame) override {
    const std::span<float> step = joint_.input(encoded_step_);
    for (size_t i = 0; i < step.size(); ++i) {
      step[i] = encoded_[i * steps_ + static_cast<size_t>(frame)];
    }
    joint_.execution().run();
    const int64_t token = int_of(joint_, token_), duration = int_of(joint_, duration_);
    constexpr int64_t kMostDuration = 1024;
    if (token < 0 || token > last_ || duration < 0 || duration > kMostDuration) {
      fail(ErrorCode::InvalidFile,
           "{}: chose token {} and duration {}; tokens are 0 to {}, durations 0 to {}",
           joint_.name(), token, duration, last_, kMostDuration);
    }
    return {static_cast<int32_t>(token), joint_.output(probability_).front(), duration};
  }

 private:
  FixedPart decoder_, joint_;
  size_t targets_ = 0, target_length_ = 0, hidden_ = 0, cell_ = 0;
  size_t predicted_ = 0, new_hidden_ = 0, new_cell_ = 0, encoded_step_ = 0, predicted_step_ = 0;
  size_t token_ = 0, probability_ = 0, duration_ = 0;
  std::span<const float> encoded_;
  size_t steps_ = 0;  // of a row of them
  int32_t last_ = 0;  // the largest id
};

ParakeetPackages::~ParakeetPackages() = default;

ParakeetPackages::ParakeetPackages(runtime::PackageFolder folder, int64_t tokens, ThreadPool& pool,
                                   const engine::ComputeOptions& compute)
    : folder_(std::move(folder)),
      preprocessor_(open_parakeet_part(folder_, fluidaudio::kPreprocessorPart, compute)),
      encoder_(open_parakeet_part(folder_, fluidaudio::kEncoderPart, compute)) {
  constexpr const char* kPreprocessorInputs[] = {fluidaudio::kAudio, fluidaudio::kAudioLength};
  constexpr const char* kEncoderInputs[] = {fluidaudio::kMel, fluidaudio::kMelLength};
  check_known_inputs(preprocessor_, kPreprocessorInputs);
  check_known_inputs(encoder_, kEncoderInputs);
  samples_ = input_shape(preprocessor_, fluidaudio::kAudio, true, {1, runtime::kAnySize})[1];
  input_shape(preprocessor_, fluidaudio::kAudioLength, false, {1});
  const auto mel =
      input_shape(encoder_, fluidaudio::kMel, true, {1, runtime::kAnySize, runtime::kAnySize});
  input_shape(encoder_, fluidaudio::kMelLength, false, {1});
  preprocessor_.prepare(pool);
  encoder_.prepare(pool);
  output_shape(preprocessor_, fluidaudio::kMel, mel);
  const auto encoded =
      output_shape(encoder_, fluidaudio::kEncoded, {1, runtime::kAnySize, runtime::kAnySize});
  // The last row of features is that of the last sample.
  const int64_t rows = std::max<int64_t>(mel[2] - 1, 1), steps = encoded[2];
  step_samples_ = samples_ / rows * ((rows + steps - 1) / steps);
  if (step_samples_ < 1) {
    fail(ErrorCode::InvalidFile, "{}: {} samples give {} rows of features", preprocessor_.name(),
         samples_, mel[2]);
  }
  audio_ = preprocessor_.input_port(fluidaudio::kAudio);
  audio_length_ = preprocessor_.input_port(fluidaudio::kAudioLength);
  mel_out_ = preprocessor_.output_port(fluidaudio::kMel);
  mel_length_out_ = preprocessor_.output_port(fluidaudio::kMelLength);
  mel_ = encoder_.input_port(fluidaudio::kMel);
  mel_length_ = encoder_.input_port(fluidaudio::kMelLength);
  encoded_ = encoder_.output_port(fluidaudio::kEncoded);
  encoded_length_ = encoder_.output_port(fluidaudio::kEncodedLength);
  rules_.blank = static_cast<int32_t>(tokens);
  rules_.vocab_size = tokens + 1;
  rules_.max_symbols = fluidaudio::kMaxSymbols;
  steps_ = std::make_unique<Steps>(open_parakeet_part(folder_, fluidaudio::kDecoderPart, compute),
                                   open_parakeet_part(folder_, fluidaudio::kJointPart, compute),
                                   encoded[1], pool);
}

int64_t ParakeetPackages::sampling_rate() const {
  return fluidaudio::kSamplingRate;
}

int64_t ParakeetPackages::run_encoder(std::span<const float> samples) {
  const auto bad = std::find_if(samples.begin(), samples.end(),
                                [](float sample) { return !std::isfinite(sample); });
  if (bad != samples.end()) {
    fail(ErrorCode::InvalidArgument, "sample {} is {}", bad - samples.begin(), *bad);
  }
  if (samples.size() > most_samples()) {
    fail(ErrorCode::LimitExceeded, "{} samples: the model takes {} at most", samples.size(),
         most_samples());
  }
  const std::span<float> audio = preprocessor_.input(audio_);
  std::fill(std::copy(samples.begin(), samples.end(), audio.begin()), audio.end(), 0.0F);
  preprocessor_.execution().int_input(audio_length_).front() = static_cast<int32_t>(samples.size());
  preprocessor_.execution().run_cancellable();
  copy_output(preprocessor_, mel_out_, encoder_, mel_);
  encoder_.execution().int_input(mel_length_).front() =
      static_cast<int32_t>(int_of(preprocessor_, mel_length_out_));
  encoder_.execution().run_cancellable();
  const int64_t steps = int_of(encoder_, encoded_length_);
  const int64_t most = encoder_.execution().output_dims(encoded_)[2];
  if (steps < 0 || steps > most) {
    fail(ErrorCode::InvalidFile, "{}: '{}' is {}, not a number of 0 to {} steps", encoder_.name(),
         fluidaudio::kEncodedLength, steps, most);
  }
  return steps;
}

runtime::EncodedSpeech ParakeetPackages::encode(std::span<const float> samples) {
  const std::lock_guard guard(mutex_);
  const auto steps = static_cast<size_t>(run_encoder(samples));
  const std::span<const float> columns = encoder_.output(encoded_);
  const auto dims = encoder_.execution().output_dims(encoded_);
  const auto width = static_cast<size_t>(dims[1]), most = static_cast<size_t>(dims[2]);
  runtime::EncodedSpeech encoded{dims[1], std::vector<float>(steps * width), false};
  for (size_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < width; ++i) {
      encoded.rows[step * width + i] = columns[i * most + step];
    }
  }
  return encoded;
}

std::vector<RecognizedToken> ParakeetPackages::recognize(std::span<const float> samples) {
  const std::lock_guard guard(mutex_);
  const int64_t steps = run_encoder(samples);
  const std::span<const float> encoded = encoder_.output(encoded_);
  const int64_t most = encoder_.execution().output_dims(encoded_)[2];
  steps_->begin(encoded, most, rules_.blank);
  const auto found = runtime::decode_transducer(rules_, steps, *steps_);
  const double step =
      static_cast<double>(step_samples_) / static_cast<double>(fluidaudio::kSamplingRate);
  std::vector<RecognizedToken> tokens;
  tokens.reserve(found.size());
  for (const runtime::SpeechToken& token : found) {
    tokens.push_back({token.id, static_cast<double>(token.begin) * step,
                      static_cast<double>(token.end) * step, token.probability});
  }
  return tokens;
}

}  // namespace pippin::speech
