#include "pippin/speech/window_task.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/speech/candidates.h"
#include "pippin/speech/compression_ratio.h"
#include "pippin/speech/segments.h"
#include "pippin/speech/suppressed_tokens.h"
#include "pippin/speech/token_scores.h"

namespace pippin::speech {
namespace {

LogitRules make_rules(const SpeechModel& model, const Tokenizer& tokenizer,
                      const SpecialTokens& tokens, const TranscribeOptions& options,
                      const Json& config) {
  LogitRules rules;
  rules.suppressed =
      suppressed_tokens(options.suppress_tokens, tokenizer, tokens, config, model.vocab_size());
  if (options.suppress_blank) {
    rules.suppressed_first = suppressed_first_tokens(tokenizer, tokens, config, model.vocab_size());
  }
  rules.timestamps =
      options.without_timestamps ? LogitRules::Timestamps::None : LogitRules::Timestamps::Ordered;
  rules.tokens = tokens;
  if (options.max_initial_timestamp >= 0) {
    rules.max_initial_timestamp_index = std::lround(
        std::min(options.max_initial_timestamp / model.shape().seconds_per_position(), 1e9));
  }
  return rules;
}

std::span<const int32_t> last_of(std::span<const int32_t> ids, int64_t most) {
  const auto count = std::min(ids.size(), static_cast<size_t>(std::max<int64_t>(most, 0)));
  return ids.last(count);
}

}  // namespace

std::vector<LanguageProbability> detect_languages(WindowDecoder& decoder,
                                                  const SpecialTokens& tokens) {
  if (!tokens.is_multilingual()) {
    fail(ErrorCode::InvalidArgument, "the model is for English only: it cannot detect languages");
  }
  const std::span<const float> logits = decoder.feed(std::span(&tokens.start_of_transcript, 1));
  std::vector<float> scores;
  scores.reserve(tokens.languages.size());
  for (const LanguageToken& language : tokens.languages) {
    scores.push_back(logits[static_cast<size_t>(language.id)]);
  }
  const double sum = log_sum_exp(scores);
  std::vector<LanguageProbability> languages;
  languages.reserve(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    languages.emplace_back(tokens.languages[i].code, std::exp(scores[i] - sum));
  }
  std::stable_sort(languages.begin(), languages.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  decoder.truncate(0);
  return languages;
}

WindowTask::WindowTask(SpeechModel& model, const Tokenizer& tokenizer, const SpecialTokens& tokens,
                       const TranscribeOptions& options, const Json& generation_config)
    : model_(model),
      tokenizer_(tokenizer),
      tokens_(tokens),
      options_(options),
      rules_(make_rules(model, tokenizer, tokens, options, generation_config)),
      random_(options.seed) {
  if (!options.hotwords.empty()) hotwords_ = prompt_tokens(tokenizer, options.hotwords);
}

std::vector<int32_t> WindowTask::start_tokens(const std::string& language) const {
  std::vector<int32_t> ids = {tokens_.start_of_transcript};
  if (!tokens_.is_multilingual()) return ids;
  const auto id = tokens_.language(language);
  if (!id) fail(ErrorCode::InvalidArgument, "the model does not have the language {}", language);
  ids.push_back(*id);
  const auto& task = options_.task == Task::Translate ? tokens_.translate : tokens_.transcribe;
  if (!task) fail(ErrorCode::Unsupported, "the tokenizer has no token for translation");
  ids.push_back(*task);
  return ids;
}

WindowTask::Prompt WindowTask::make_prompt(std::span<const int32_t> previous,
                                           const std::string& language) const {
  Prompt prompt;
  prompt.after_start = start_tokens(language);
  if (options_.without_timestamps) prompt.after_start.push_back(tokens_.no_timestamps);
  if ((previous.empty() && hotwords_.empty()) || !tokens_.start_of_previous) return prompt;
  const auto words =
      std::span(hotwords_).first(last_of(hotwords_, most_previous()).size());  // the first of them
  const auto text = last_of(previous, most_previous() - std::ssize(words));
  prompt.before_start.push_back(*tokens_.start_of_previous);
  prompt.before_start.insert(prompt.before_start.end(), words.begin(), words.end());
  prompt.before_start.insert(prompt.before_start.end(), text.begin(), text.end());
  return prompt;
}

WindowTask::Start WindowTask::feed_prompt(WindowDecoder& decoder, const Prompt& prompt) const {
  std::vector<int32_t> ids = prompt.before_start;
  ids.push_back(prompt.after_start.front());
  std::span<const float> row = decoder.feed(ids);
  Start start;
  start.no_speech_prob = std::numeric_limits<double>::quiet_NaN();
  if (tokens_.no_speech) {
    start.no_speech_prob =
        std::exp(row[static_cast<size_t>(*tokens_.no_speech)] - log_sum_exp(row));
  }
  const auto rest = std::span(prompt.after_start).subspan(1);
  if (!rest.empty()) row = decoder.feed(rest);
  start.logits.assign(row.begin(), row.end());
  return start;
}

PromptedDecoder WindowTask::prompted(WindowDecoder& decoder, const Start& start) const {
  const int64_t wanted = options_.max_tokens > 0 ? options_.max_tokens : model_.context() / 2;
  const int64_t room = model_.context() - decoder.position() + 1;  // the last one is not fed
  return {model_, decoder, start.logits, rules_, tokens_.end_of_text, std::min(wanted, room)};
}

WindowText WindowTask::decode(WindowDecoder& decoder, std::span<const int32_t> previous,
                              const std::string& language) {
  const Start start = feed_prompt(decoder, make_prompt(previous, language));
  const int64_t fed = decoder.position();
  WindowText text = decode_at(options_.temperatures.front(), decoder, start);
  decoder.truncate(fed);
  text = decode_from(1, std::move(text), decoder, start);
  decoder.truncate(0);
  return text;
}

std::vector<WindowText> WindowTask::decode_together(std::span<WindowDecoder* const> decoders,
                                                    std::span<const int32_t> previous,
                                                    const std::string& language) {
  const Prompt prompt = make_prompt(previous, language);
  std::vector<Start> starts;
  starts.reserve(decoders.size());
  for (WindowDecoder* decoder : decoders) starts.push_back(feed_prompt(*decoder, prompt));
  const int64_t fed = decoders.empty() ? 0 : decoders.front()->position();
  std::vector<PromptedDecoder> all;
  all.reserve(decoders.size());
  for (size_t i = 0; i < decoders.size(); ++i) all.push_back(prompted(*decoders[i], starts[i]));
  std::vector<Candidate> candidates = decode_greedily_together(all);
  std::vector<WindowText> texts;
  texts.reserve(decoders.size());
  for (size_t i = 0; i < decoders.size(); ++i) {
    decoders[i]->truncate(fed);
    WindowText text = text_of(std::move(candidates[i]), 0, starts[i]);
    texts.push_back(decode_from(1, std::move(text), *decoders[i], starts[i]));
    decoders[i]->truncate(0);
  }
  return texts;
}

WindowText WindowTask::decode_from(size_t index, WindowText text, WindowDecoder& decoder,
                                   const Start& start) {
  const int64_t fed = decoder.position();
  for (; index < options_.temperatures.size() && needs_fallback(text); ++index) {
    text = decode_at(options_.temperatures[index], decoder, start);
    decoder.truncate(fed);
  }
  return text;
}

WindowText WindowTask::decode_at(double temperature, WindowDecoder& decoder, const Start& start) {
  const PromptedDecoder from = prompted(decoder, start);
  std::vector<Candidate> candidates;
  if (temperature > 0) {
    candidates = sample_candidates(from, temperature, options_.best_of, random_);
  } else if (options_.beam_size > 0) {
    candidates = search_beams(from, options_.beam_size, options_.patience);
  } else {
    candidates.push_back(decode_greedily(from));
  }
  if (candidates.empty()) candidates.emplace_back();
  const size_t best = best_candidate(candidates, options_.length_penalty);
  return text_of(std::move(candidates[best]), temperature, start);
}

WindowText WindowTask::text_of(Candidate candidate, double temperature, const Start& start) const {
  WindowText text;
  text.temperature = temperature;
  text.no_speech_prob = start.no_speech_prob;
  text.avg_logprob = candidate.sum_logprob / static_cast<double>(candidate.tokens.size() + 1);
  text.compression_ratio =
      compression_ratio(trimmed(decode_text(tokenizer_, tokens_, candidate.tokens)));
  text.tokens = std::move(candidate.tokens);
  return text;
}

bool WindowTask::needs_fallback(const WindowText& text) const {
  const bool is_repetitive = options_.compression_ratio_threshold &&
                             text.compression_ratio > *options_.compression_ratio_threshold;
  const bool is_improbable =
      options_.logprob_threshold && text.avg_logprob < *options_.logprob_threshold;
  const bool is_silent = options_.no_speech_threshold && is_improbable &&
                         text.no_speech_prob > *options_.no_speech_threshold;
  return (is_repetitive || is_improbable) && !is_silent;
}

}  // namespace pippin::speech
