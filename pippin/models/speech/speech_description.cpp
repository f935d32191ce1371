#include "pippin/models/speech/speech_description.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pippin::models {
namespace {

struct SpeechArchitecture {
  std::string_view model_type, class_name;
  SpeechDescription (*describe)(const Config& config);
};

constexpr SpeechArchitecture kSpeechArchitectures[] = {
    {"hubert", "HubertForCTC", hubert},
    {"lasr_ctc", "LasrForCTC", lasr_ctc},
    {"parakeet_ctc", "ParakeetForCTC", parakeet_ctc},
    {"parakeet_rnnt", "ParakeetForRNNT", parakeet_rnnt},
    {"parakeet_tdt", "ParakeetForTDT", parakeet_tdt},
    {"wav2vec2", "Wav2Vec2ForCTC", wav2vec2},
    {"wav2vec2-bert", "Wav2Vec2BertForCTC", wav2vec2_bert},
    {"wavlm", "WavLMForCTC", wavlm}};

const SpeechArchitecture* find_speech(std::string_view type) {
  const auto* const found =
      std::find_if(std::begin(kSpeechArchitectures), std::end(kSpeechArchitectures),
                   [&](const SpeechArchitecture& known) { return known.model_type == type; });
  return found == std::end(kSpeechArchitectures) ? nullptr : found;
}

}  // namespace

bool is_speech_type(std::string_view model_type) {
  return find_speech(model_type) != nullptr;
}

SpeechDescription describe_speech(const Config& config) {
  const std::string type = config.text("model_type", "");
  const SpeechArchitecture* const known = find_speech(type);
  if (known == nullptr) {
    std::vector<std::string_view> types;
    types.reserve(std::size(kSpeechArchitectures));
    for (const SpeechArchitecture& one : kSpeechArchitectures) types.push_back(one.model_type);
    config.unsupported("model_type", fmt::format("'{}' is not supported for speech (known: {})",
                                                 type, fmt::join(types, ", ")));
  }
  if (const auto classes = config.find("architectures"); classes && classes->size() > 0) {
    const std::string name(classes->at(size_t{0}).as_string());
    if (name != known->class_name) {
      config.unsupported("architectures", fmt::format("'{}' is not supported (supported: {})", name,
                                                      known->class_name));
    }
  }
  SpeechDescription model = known->describe(config);
  model.class_name = known->class_name;
  return model;
}

int64_t read_token(const Config& config, std::string_view key, int64_t fallback,
                   int64_t vocab_size) {
  const auto given = config.find(key);
  const int64_t token = given ? given->as_int() : fallback;
  if (token < 0 || token >= vocab_size) {
    config.invalid(key, fmt::format("{} is not one of {} tokens", token, vocab_size));
  }
  return token;
}

void read_ctc(const Config& config, int64_t vocab_size, int64_t blank, SpeechDescription& model) {
  model.vocab_size = config.size("vocab_size", vocab_size);
  model.blank = read_token(config, "pad_token_id", blank, model.vocab_size);
}

std::vector<int64_t> read_sizes(const Config& config, std::string_view key,
                                const std::vector<int64_t>& fallback, int64_t least, int64_t most) {
  constexpr size_t kMostEntries = 64;
  const auto given = config.find(key);
  std::vector<int64_t> sizes = given ? given->as_ints() : fallback;
  if (sizes.empty() || sizes.size() > kMostEntries) {
    config.invalid(key,
                   fmt::format("{} numbers, 1 to {} are possible", sizes.size(), kMostEntries));
  }
  for (const int64_t size : sizes) {
    if (size < least || size > most) {
      config.invalid(key, fmt::format("{} is not between {} and {}", size, least, most));
    }
  }
  return sizes;
}

Config part_of(const Config& config, std::string_view key) {
  const auto part = config.find(key);
  return Config(part ? *part : Json::parse("{}", config.json().where(key)));
}

}  // namespace pippin::models
