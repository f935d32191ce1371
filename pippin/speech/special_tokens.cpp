#include "pippin/speech/special_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/speech/languages.h"

namespace pippin::speech {
namespace {

// The vocabulary of the first multilingual models; those for English have one token less.
constexpr int64_t kMultilingualVocabulary = 51865;

int32_t require(const Tokenizer& tokenizer, std::string_view token) {
  const auto id = tokenizer.token_to_id(token);
  if (!id) fail(ErrorCode::InvalidFile, "the tokenizer has no token {}: not Whisper's", token);
  return *id;
}

// Tokenizers of English-only models have tokens of languages, too, which the models do not use.
bool reads_as_multilingual(const Json& config, int64_t vocab_size, const Tokenizer& tokenizer) {
  if (const auto flag = config.find_bool("is_multilingual")) return *flag;
  if (config.has("lang_to_id")) return true;
  if (const auto forced = config.find("forced_decoder_ids"); forced && forced->size() > 0) {
    // Pairs of a position and a token. The first token is a language, or null for any language; for
    // English-only models it is <|notimestamps|>.
    const Json first = forced->at(size_t{0});
    if (first.size() != 2) first.invalid("is not a pair of a position and a token");
    const Json id = first.at(1);
    return id.is_null() || id.as_int() != tokenizer.token_to_id("<|notimestamps|>");
  }
  return vocab_size >= kMultilingualVocabulary;
}

std::vector<LanguageToken> read_languages(const Tokenizer& tokenizer, const Json& config) {
  std::vector<LanguageToken> languages;
  if (const auto listed = config.find("lang_to_id")) {
    languages.reserve(listed->size());
    for (const auto& [token, id] : listed->members()) {
      if (token.size() < 5 || !token.starts_with("<|") || !token.ends_with("|>")) {
        listed->invalid(fmt::format("\"{}\" is not a language token such as <|en|>", token));
      }
      languages.push_back({std::string(token.substr(2, token.size() - 4)),
                           static_cast<int32_t>(id.as_int(0, tokenizer.vocab_size() - 1))});
    }
    return languages;
  }
  for (const Language& language : all_languages()) {
    if (const auto id = tokenizer.token_to_id(fmt::format("<|{}|>", language.code))) {
      languages.push_back({std::string(language.code), *id});
    }
  }
  return languages;
}

}  // namespace

std::optional<int32_t> SpecialTokens::language(std::string_view code) const {
  const auto found = std::find_if(languages.begin(), languages.end(),
                                  [&](const LanguageToken& token) { return token.code == code; });
  if (found == languages.end()) return std::nullopt;
  return found->id;
}

SpecialTokens read_special_tokens(const Tokenizer& tokenizer, const Json& generation_config,
                                  int64_t vocab_size, int64_t positions) {
  SpecialTokens tokens;
  tokens.end_of_text = require(tokenizer, "<|endoftext|>");
  tokens.start_of_transcript = require(tokenizer, "<|startoftranscript|>");
  tokens.no_timestamps = require(tokenizer, "<|notimestamps|>");
  tokens.transcribe = tokenizer.token_to_id("<|transcribe|>");
  tokens.translate = tokenizer.token_to_id("<|translate|>");
  tokens.start_of_previous = tokenizer.token_to_id("<|startofprev|>");
  tokens.start_of_lm = tokenizer.token_to_id("<|startoflm|>");
  tokens.no_speech = tokenizer.token_to_id("<|nospeech|>");
  if (!tokens.no_speech) tokens.no_speech = tokenizer.token_to_id("<|nocaptions|>");
  // Older tokenizer files do not contain the timestamps.
  tokens.timestamp_begin = tokenizer.token_to_id("<|0.00|>").value_or(tokens.no_timestamps + 1);
  if (tokens.timestamp_begin <= tokens.no_timestamps ||
      tokens.no_timestamps <= tokens.end_of_text) {
    fail(ErrorCode::InvalidFile,
         "the tokenizer's special tokens are not in Whisper's order: <|endoftext|> {}, "
         "<|notimestamps|> {}, <|0.00|> {}",
         tokens.end_of_text, tokens.no_timestamps, tokens.timestamp_begin);
  }
  if (tokens.timestamp_begin >= vocab_size) {
    fail(ErrorCode::InvalidFile,
         "the tokenizer's timestamps begin at {}, the model has {} tokens: not its tokenizer",
         tokens.timestamp_begin, vocab_size);
  }
  for (const auto& id :
       {std::optional(tokens.start_of_transcript), tokens.transcribe, tokens.translate,
        tokens.start_of_previous, tokens.start_of_lm, tokens.no_speech}) {
    if (id && (*id <= tokens.end_of_text || *id >= vocab_size)) {
      fail(ErrorCode::InvalidFile,
           "the tokenizer's special token {} has id {}, not one after <|endoftext|> ({}) and below "
           "the model's {} tokens",
           tokenizer.id_to_token(*id).value_or(""), *id, tokens.end_of_text, vocab_size);
    }
  }
  tokens.timestamp_end =
      static_cast<int32_t>(std::min(vocab_size, tokens.timestamp_begin + positions + 1));
  if (reads_as_multilingual(generation_config, vocab_size, tokenizer)) {
    tokens.languages = read_languages(tokenizer, generation_config);
    for (const LanguageToken& language : tokens.languages) {
      if (language.id <= tokens.end_of_text || language.id >= vocab_size) {
        fail(ErrorCode::InvalidFile, "the language token <|{}|> has id {}, a text token's",
             language.code, language.id);
      }
    }
    if (!tokens.languages.empty() && !tokens.transcribe) require(tokenizer, "<|transcribe|>");
  }
  return tokens;
}

}  // namespace pippin::speech
