// Transcribes recordings of any length: window after window, as OpenAI's whisper does.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/speech/feature_source.h"
#include "pippin/speech/options.h"
#include "pippin/speech/segments.h"
#include "pippin/speech/special_tokens.h"
#include "pippin/speech/transcription.h"
#include "pippin/speech/window_decoder.h"
#include "pippin/speech/window_task.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::speech {

// Called while a recording is transcribed; each may be null. The progress is in seconds of the
// recording.
struct Events {
  std::function<void(const std::string& language, double probability)> detected;
  std::function<void(const Segment& segment)> segment;
  std::function<void(double done, double seconds)> progress;
};

// For one thread at a time.
class Transcriber {
 public:
  // `model` must outlive it. `generation_config`: the file's content, or an empty object. Throws
  // InvalidArgument for wrong options, InvalidFile for a tokenizer that is not Whisper's,
  // Unsupported for words of a model without alignment heads.
  Transcriber(SpeechModel& model, Tokenizer tokenizer, const Json& generation_config,
              TranscribeOptions options);
  Transcriber(const Transcriber&) = delete;
  Transcriber& operator=(const Transcriber&) = delete;

  // Throws Cancelled; segments told before are complete.
  Transcription transcribe(FeatureSource& source, const Events& events = {});

  const SpecialTokens& special_tokens() const { return tokens_; }

 private:
  struct Run;
  void decode_window(Run& run, int64_t seek, int64_t frames);
  void detect_language(Run& run, WindowDecoder& decoder) const;
  // Adds the text of the window at a frame to the run, and moves to the next window.
  void take_text(Run& run, WindowDecoder& decoder, const WindowText& text, int64_t seek,
                 int64_t frames);
  // Decodes the next window of each run; all begin with the initial prompt.
  void decode_together(std::span<Run* const> runs);
  void transcribe_together(Run& whole, std::span<const std::pair<int64_t, int64_t>> clips);
  void tell(const Run& run, int64_t done) const;
  std::vector<int32_t> previous_tokens(const Run& run) const;
  std::vector<Segment> make_segments(const WindowText& text, const WindowCut& cut,
                                     int64_t seek) const;

  SpeechModel& model_;
  Tokenizer tokenizer_;
  TranscribeOptions options_;
  SpecialTokens tokens_;
  WindowTask task_;
  std::vector<int32_t> initial_prompt_;
};

}  // namespace pippin::speech
