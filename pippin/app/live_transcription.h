// Text of sound that arrives while it is recorded: each piece between pauses is transcribed as soon
// as it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pippin/app/speech_to_text.h"
#include "pippin/speech/options.h"
#include "pippin/speech/transcriber.h"
#include "pippin/speech/transcription.h"

namespace pippin::app {

class LiveTranscription {
 public:
  // `model` must outlive it, as must the events' functions. Throws InvalidArgument for wrong
  // options, and for clip_timestamps, which need the whole recording.
  LiveTranscription(const SpeechToText& model, speech::TranscribeOptions options,
                    speech::Events events);

  // Adds samples of the model's rate, and transcribes the pieces that they complete: those that end
  // in a pause (last_pause()), and those of 30 s. Throws as SpeechToText::transcribe().
  void add(std::span<const float> samples);
  // Transcribes the rest and returns the whole.
  speech::Transcription finish();

 private:
  void transcribe_first(size_t count);

  const SpeechToText& model_;
  speech::TranscribeOptions options_;
  speech::Events events_;
  int64_t rate_ = 0;
  size_t most_ = 0;             // samples of a piece
  std::vector<float> samples_;  // that no piece has had so far
  size_t done_ = 0;             // samples of the pieces before
  speech::Transcription result_;
};

// Returns the middle of a pause that ends the samples: 0.6 s that are quiet compared with the
// loudest tenth of a second of the second and more before them; 0 without one.
size_t last_pause(std::span<const float> samples, int64_t sampling_rate);

}  // namespace pippin::app
