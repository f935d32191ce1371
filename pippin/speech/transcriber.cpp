#include "pippin/speech/transcriber.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/speech/hallucinations.h"
#include "pippin/speech/word_times.h"

namespace pippin::speech {
namespace {

// Texts of samples above this temperature do not condition the next window.
constexpr double kMostTemperatureOfContext = 0.5;

TranscribeOptions checked(TranscribeOptions options) {
  options.check();
  return options;
}

// Parts of the recording to transcribe, in frames.
using Clip = std::pair<int64_t, int64_t>;

std::vector<Clip> clips_of(const std::vector<double>& times, double seconds_per_frame,
                           int64_t frames) {
  std::vector<int64_t> points;
  points.reserve(times.size() + 2);
  for (const double time : times) {
    const double frame = std::min(time / seconds_per_frame, static_cast<double>(frames));
    points.push_back(std::llround(frame));
  }
  if (points.empty()) points.push_back(0);
  if (points.size() % 2 == 1) points.push_back(frames);
  std::vector<Clip> clips;
  clips.reserve(points.size() / 2);
  for (size_t i = 0; i < points.size(); i += 2) clips.emplace_back(points[i], points[i + 1]);
  return clips;
}

// The end of the last word, or of the last segment if there are no words.
double speech_end(std::span<const Segment> segments) {
  for (size_t i = segments.size(); i-- > 0;) {
    if (!segments[i].words.empty()) return segments[i].words.back().end;
  }
  return segments.back().end;
}

}  // namespace

// The state of one transcription.
struct Transcriber::Run {
  FeatureSource& source;
  const Events& events;
  Transcription result;
  std::vector<int32_t> tokens;  // the initial prompt, then those of all segments
  size_t context_begin = 0;     // the first of `tokens` that conditions the next window
  double last_speech = 0;       // the end of the last word
  int64_t seek = 0;             // the next window
  int64_t end = 0;              // of the clip
};

Transcriber::Transcriber(SpeechModel& model, Tokenizer tokenizer, const Json& generation_config,
                         TranscribeOptions options)
    : model_(model),
      tokenizer_(std::move(tokenizer)),
      options_(checked(std::move(options))),
      tokens_(read_special_tokens(tokenizer_, generation_config, model.vocab_size(),
                                  model.shape().positions)),
      task_(model, tokenizer_, tokens_, options_, generation_config) {
  if (!tokens_.is_multilingual()) {
    if (options_.language.value_or("en") != "en" || options_.task == Task::Translate) {
      fail(ErrorCode::InvalidArgument, "the model is for English only: it {}",
           options_.task == Task::Translate ? "does not translate"
                                            : fmt::format("does not know {}", *options_.language));
    }
    options_.language = "en";
  } else if (options_.language) {
    task_.start_tokens(*options_.language);  // throws for a language that the model does not have
  }
  if (options_.word_timestamps && !model.can_align()) {
    fail(ErrorCode::Unsupported,
         "the model gives no times of words: it has no attention heads that align them");
  }
  if (!options_.initial_prompt.empty()) {
    initial_prompt_ = prompt_tokens(tokenizer_, options_.initial_prompt);
  }
}

Transcription Transcriber::transcribe(FeatureSource& source, const Events& events) {
  Run run{source, events, {}, initial_prompt_};
  run.result.task = options_.task;
  run.result.duration = source.seconds();
  run.result.language = options_.language.value_or("");
  const int64_t frames = source.frames();
  const double frame = model_.shape().seconds_per_frame;
  const std::vector<Clip> clips = clips_of(options_.clip_timestamps, frame, frames);
  if (options_.batch_size > 1) {
    transcribe_together(run, clips);
  } else {
    for (const auto& [begin, end] : clips) {
      run.seek = begin;  // whatever the text of the clip before says of its end
      while (run.seek < end) {
        check_cancel();
        tell(run, run.seek);
        const int64_t seek = run.seek;
        decode_window(run, seek, std::min(model_.shape().frames, end - seek));
      }
    }
  }
  if (frames > 0) tell(run, frames);
  const auto text = std::span(run.tokens).subspan(initial_prompt_.size());
  run.result.text = decode_text(tokenizer_, tokens_, text);
  return std::move(run.result);
}

void Transcriber::tell(const Run& run, int64_t done) const {
  if (!run.events.progress) return;
  const double frame = model_.shape().seconds_per_frame;
  run.events.progress(static_cast<double>(done) * frame,
                      static_cast<double>(run.source.frames()) * frame);
}

void Transcriber::decode_together(std::span<Run* const> runs) {
  std::vector<std::unique_ptr<WindowDecoder>> decoders;
  std::vector<WindowDecoder*> each;
  std::vector<int64_t> frames;
  decoders.reserve(runs.size());
  each.reserve(runs.size());
  frames.reserve(runs.size());
  for (const Run* run : runs) {
    check_cancel();
    frames.push_back(std::min(model_.shape().frames, run->end - run->seek));
    decoders.push_back(model_.encode(run->source.window(run->seek, frames.back())));
    each.push_back(decoders.back().get());
  }
  const auto texts = task_.decode_together(each, initial_prompt_, runs.front()->result.language);
  for (size_t i = 0; i < runs.size(); ++i) {
    take_text(*runs[i], *each[i], texts[i], runs[i]->seek, frames[i]);
  }
}

// Clips do not see each other's text. Segments are told in order.
void Transcriber::transcribe_together(Run& whole, std::span<const Clip> clips) {
  const Events silent;
  std::vector<Run> runs;
  runs.reserve(clips.size());
  for (const auto& [begin, end] : clips) {
    if (begin >= end) continue;
    runs.push_back({whole.source, silent, {}, initial_prompt_});
    runs.back().seek = begin;
    runs.back().end = end;
  }
  if (!runs.empty() && whole.result.language.empty()) {
    const Run& first = runs.front();
    const int64_t frames = std::min(model_.shape().frames, first.end - first.seek);
    const auto decoder = model_.encode(whole.source.window(first.seek, frames));
    detect_language(whole, *decoder);
  }
  for (Run& run : runs) run.result.language = whole.result.language;
  for (size_t told = 0; told < runs.size();) {
    tell(whole, runs[told].seek);
    std::vector<Run*> next;
    for (Run& run : runs) {
      if (run.seek < run.end && std::ssize(next) < options_.batch_size) next.push_back(&run);
    }
    if (!next.empty()) decode_together(next);
    for (; told < runs.size() && runs[told].seek >= runs[told].end; ++told) {
      for (Segment& segment : runs[told].result.segments) {
        segment.id = std::ssize(whole.result.segments);
        whole.tokens.insert(whole.tokens.end(), segment.tokens.begin(), segment.tokens.end());
        if (whole.events.segment) whole.events.segment(segment);
        whole.result.segments.push_back(std::move(segment));
      }
    }
  }
}

std::vector<int32_t> Transcriber::previous_tokens(const Run& run) const {
  const auto all = std::span(run.tokens);
  if (!options_.carry_initial_prompt) {
    const auto previous = all.subspan(run.context_begin);
    return {previous.begin(), previous.end()};
  }
  const auto rest = all.subspan(std::max(initial_prompt_.size(), run.context_begin));
  const auto room = std::max<int64_t>(task_.most_previous() - std::ssize(initial_prompt_), 0);
  const auto last = rest.last(std::min(rest.size(), static_cast<size_t>(room)));
  std::vector<int32_t> previous = initial_prompt_;
  previous.insert(previous.end(), last.begin(), last.end());
  return previous;
}

std::vector<Segment> Transcriber::make_segments(const WindowText& text, const WindowCut& cut,
                                                int64_t seek) const {
  const double frame = model_.shape().seconds_per_frame;
  std::vector<Segment> segments;
  segments.reserve(cut.spans.size());
  for (const TokenSpan& span : cut.spans) {
    Segment segment;
    segment.seek = seek;
    segment.start = round_time(static_cast<double>(seek + span.start_frame) * frame);
    segment.end = round_time(static_cast<double>(seek + span.end_frame) * frame);
    const auto ids = std::span(text.tokens).subspan(span.begin, span.end - span.begin);
    segment.tokens.assign(ids.begin(), ids.end());
    segment.text = decode_text(tokenizer_, tokens_, ids);
    segment.temperature = text.temperature;
    segment.avg_logprob = text.avg_logprob;
    segment.compression_ratio = text.compression_ratio;
    segment.no_speech_prob = text.no_speech_prob;
    segments.push_back(std::move(segment));
  }
  return segments;
}

void Transcriber::decode_window(Run& run, int64_t seek, int64_t frames) {
  const auto decoder = model_.encode(run.source.window(seek, frames));
  if (run.result.language.empty()) detect_language(run, *decoder);
  const WindowText text = task_.decode(*decoder, previous_tokens(run), run.result.language);
  take_text(run, *decoder, text, seek, frames);
}

void Transcriber::detect_language(Run& run, WindowDecoder& decoder) const {
  const auto languages = detect_languages(decoder, tokens_);
  run.result.language = languages.front().first;
  if (run.events.detected) run.events.detected(run.result.language, languages.front().second);
}

void Transcriber::take_text(Run& run, WindowDecoder& decoder, const WindowText& text, int64_t seek,
                            int64_t frames) {
  const double frame = model_.shape().seconds_per_frame;
  run.seek = seek + frames;
  const bool is_probable =
      options_.logprob_threshold && text.avg_logprob > *options_.logprob_threshold;
  if (options_.no_speech_threshold && text.no_speech_prob > *options_.no_speech_threshold &&
      !is_probable) {
    return;
  }
  const WindowCut cut = cut_window(text.tokens, tokens_, model_.shape(), frames);
  std::vector<Segment> segments = make_segments(text, cut, seek);
  run.seek = seek + cut.next_frame;
  if (options_.word_timestamps) {
    add_words(segments,
              {model_, decoder, tokenizer_, tokens_, task_.start_tokens(run.result.language),
               run.result.language, static_cast<double>(seek) * frame, frames, run.last_speech},
              options_);
    const double last_end = speech_end(segments);
    // The next window begins after the last word.
    const auto end = std::llround(last_end / frame);
    if (!cut.ends_after_timestamp && end > seek) run.seek = end;
    if (options_.hallucination_silence_threshold) {
      const double start = static_cast<double>(seek) * frame;
      const WindowTimes window{start, static_cast<double>(seek + frames) * frame,
                               start + model_.shape().seconds(), run.last_speech,
                               static_cast<double>(run.source.frames()) * frame};
      // No more speech is expected after a short rest of the window.
      const bool is_brief = window.end - last_end <= *options_.hallucination_silence_threshold;
      if (!cut.ends_after_timestamp && end > seek && is_brief) run.seek = seek + frames;
      if (const auto resume = remove_hallucinations(segments, window, options_)) {
        run.seek = std::llround(*resume / frame);
      }
    }
    if (!segments.empty()) run.last_speech = speech_end(segments);
  }
  if (run.seek <= seek) run.seek = seek + frames;  // a text without the rules of timestamps
  for (Segment& segment : segments) {
    if (segment.start == segment.end || trimmed(segment.text).empty()) {
      segment.text.clear();
      segment.tokens.clear();
      segment.words.clear();
    }
    segment.id = std::ssize(run.result.segments);
    run.tokens.insert(run.tokens.end(), segment.tokens.begin(), segment.tokens.end());
    if (run.events.segment) run.events.segment(segment);
    run.result.segments.push_back(std::move(segment));
  }
  if (!options_.condition_on_previous_text || text.temperature > kMostTemperatureOfContext) {
    run.context_begin = run.tokens.size();
  }
}

}  // namespace pippin::speech
