#include "pippin/app/open/ggml_model.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/families/ggml.h"
#include "pippin/io/json.h"
#include "pippin/models/gguf/ggml_whisper.h"
#include "pippin/sound/mel_filters.h"
#include "pippin/speech/languages.h"
#include "pippin/tokenizers/files/ranked_tokens.h"

namespace pippin::app {
namespace {

constexpr int64_t kRateOfGgml = 16000, kHopOfGgml = 160;

// The ids after the text tokens: <|endoftext|>, <|startoftranscript|>, the languages, six others,
// and a timestamp for each position of the encoder and the end.
struct GgmlVocabulary {
  int64_t text_tokens = 0, languages = 0;
  bool is_multilingual = false;
};

GgmlVocabulary read_vocabulary(const GgmlContent& content, const std::string& name) {
  constexpr int64_t kMultilingual = 51865, kEnglish = 51864, kEnglishTokens = 50256;
  constexpr int64_t kOthers = 8;
  GgmlVocabulary vocabulary;
  // Files made from Hugging Face's vocabularies have <|endoftext|>, too.
  auto given = std::ssize(content.tokens);
  if (given > 0 && content.tokens.back() == "<|endoftext|>") --given;
  if (content.vocab_size >= kEnglish) {
    vocabulary.is_multilingual = content.vocab_size >= kMultilingual;
    vocabulary.text_tokens = kEnglishTokens + (vocabulary.is_multilingual ? 1 : 0);
  } else {
    vocabulary.text_tokens = given;
  }
  vocabulary.languages =
      content.vocab_size - vocabulary.text_tokens - kOthers - (content.audio_context + 1);
  if (content.vocab_size < kEnglish) vocabulary.is_multilingual = vocabulary.languages > 0;
  if (given < vocabulary.text_tokens) {
    fail(ErrorCode::InvalidFile, "{}: {} text tokens, a vocabulary of {} has {}", name, given,
         content.vocab_size, vocabulary.text_tokens);
  }
  const auto known = std::ssize(speech::all_languages());
  if (vocabulary.languages < 0 || vocabulary.languages > known) {
    fail(ErrorCode::Unsupported,
         "{}: n_vocab {} leaves {} tokens for languages, after {} text tokens and {} timestamps: "
         "0 to {} are known",
         name, content.vocab_size, vocabulary.languages, vocabulary.text_tokens,
         content.audio_context + 1, known);
  }
  return vocabulary;
}

std::vector<std::string> special_tokens(const GgmlVocabulary& vocabulary, int64_t positions) {
  std::vector<std::string> names = {"<|endoftext|>", "<|startoftranscript|>"};
  for (const speech::Language& language :
       speech::all_languages().first(static_cast<size_t>(vocabulary.languages))) {
    names.push_back(fmt::format("<|{}|>", language.code));
  }
  for (const char* other : {"<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>",
                            "<|nospeech|>", "<|notimestamps|>"}) {
    names.emplace_back(other);
  }
  constexpr int64_t kPerSecond = 50;
  for (int64_t i = 0; i <= positions; ++i) {
    names.push_back(fmt::format("<|{}.{:02}|>", i / kPerSecond, i % kPerSecond * 2));
  }
  return names;
}

// Whether the filters are those that FeatureExtractor computes.
bool has_usual_filters(const GgmlContent& content) {
  const auto bands = sound::mel_bands({.num_bands = content.bands,
                                       .fft_size = static_cast<size_t>(2 * (content.bins - 1)),
                                       .sampling_rate = kRateOfGgml,
                                       .max_hertz = kRateOfGgml / 2.0,
                                       .scale = sound::MelScale::Slaney,
                                       .unit_area = true});
  const auto bins = static_cast<size_t>(content.bins);
  constexpr double kRounding = 1e-6;
  for (size_t band = 0; band < bands.size(); ++band) {
    for (size_t bin = 0; bin < bins; ++bin) {
      const auto& [first, weights] = bands[band];
      const bool is_inside = bin >= first && bin - first < weights.size();
      const double usual = is_inside ? weights[bin - first] : 0.0;
      if (std::abs(usual - content.filters[band * bins + bin]) > kRounding) return false;
    }
  }
  return true;
}

std::string extractor_json(const GgmlContent& content, const std::string& name) {
  const int64_t samples = 2 * content.audio_context * kHopOfGgml;
  if (content.bins < 2 || samples % kRateOfGgml != 0) {
    fail(ErrorCode::Unsupported,
         "{}: {} bins of a spectrum and windows of {} samples: whole seconds are supported", name,
         content.bins, samples);
  }
  JsonWriter json;
  json.begin_object().member("feature_extractor_type", "WhisperFeatureExtractor");
  json.member("feature_size", content.bands).member("chunk_length", samples / kRateOfGgml);
  json.member("hop_length", kHopOfGgml).member("n_fft", 2 * (content.bins - 1));
  json.member("sampling_rate", kRateOfGgml);
  if (!has_usual_filters(content)) {
    json.key("ggml_mel_filters").begin_array();
    const auto bins = static_cast<size_t>(content.bins);
    for (size_t begin = 0; begin < content.filters.size(); begin += bins) {
      const auto row = std::span(content.filters).subspan(begin, bins);
      json.value(std::vector<double>(row.begin(), row.end()));
    }
    json.end_array();
  }
  return json.end_object().text();
}

}  // namespace

std::vector<tokenizers::TextFile> ggml_files(const GgmlContent& content, const std::string& name) {
  const GgmlVocabulary vocabulary = read_vocabulary(content, name);
  const int64_t end = vocabulary.text_tokens, start = end + 1;
  JsonWriter generation;
  generation.begin_object().member("is_multilingual", vocabulary.is_multilingual);
  generation.member("decoder_start_token_id", start).member("eos_token_id", end);
  generation.end_object();
  const auto tokens = std::span(content.tokens).first(static_cast<size_t>(vocabulary.text_tokens));
  return {{"config.json", models::ggml_config(content, start, name)},
          {"generation_config.json", generation.text()},
          {"preprocessor_config.json", extractor_json(content, name)},
          {"tokenizer.json", tokenizers::ranked_tokenizer_json(
                                 tokens, special_tokens(vocabulary, content.audio_context), name)}};
}

std::filesystem::path ggml_encoder(const std::filesystem::path& file) {
  std::string stem = file.stem().string();
  constexpr std::string_view kQuantized = "-q5_0";
  if (const size_t dash = stem.rfind('-'); dash != stem.npos) {
    const std::string_view ending = std::string_view(stem).substr(dash);
    if (ending.size() == kQuantized.size() && ending[1] == 'q' && ending[3] == '_') {
      stem.resize(dash);
    }
  }
  for (const char* form : {".mlmodelc", ".mlpackage"}) {
    std::filesystem::path package =
        file.parent_path() / fmt::format("{}{}{}", stem, families::ggml::kEncoderEnding, form);
    if (std::filesystem::is_directory(package)) return package;
  }
  return {};
}

}  // namespace pippin::app
