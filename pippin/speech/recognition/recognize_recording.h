// Transcribes recordings of any length with a recognizer: window after window.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "pippin/speech/options.h"
#include "pippin/speech/recognition/recognized_words.h"
#include "pippin/speech/recognition/recognizer.h"
#include "pippin/speech/transcriber.h"
#include "pippin/speech/transcription.h"

namespace pippin::speech {

// The longest window, in seconds; models may take less.
inline constexpr int64_t kMostSecondsOfWindow = 30;

// Returns the first option that has no meaning for recognizers and is not at its default, by its
// name in TranscribeOptions ("temperature" for `temperatures`); nothing if there is none.
// Recognizers honour word_timestamps and without_timestamps (a segment for each window).
std::optional<std::string_view> option_of_whisper(const TranscribeOptions& options);

// Windows end in pauses. Where none is, they overlap, and their words are joined (join_words.h), if
// tokens have times. Throws InvalidArgument for an option_of_whisper(),
// Unsupported for words of a recognizer without times, the errors of Recognizer::recognize(), and
// Cancelled; segments told before are complete.
Transcription recognize_recording(Recognizer& recognizer, const TokenTexts& texts,
                                  std::span<const float> samples, const TranscribeOptions& options,
                                  const Events& events = {});

// As recognize_recording() refuses options, without a recording.
void check_options(const Recognizer& recognizer, const TranscribeOptions& options);

}  // namespace pippin::speech
