// The texts of recordings, by models of speech.
//
//   const auto transcriber = pippin::Transcriber::open("openai/whisper-base");
//   const pippin::speech::Transcription made = transcriber.transcribe_file("talk.flac");
//   std::cout << pippin::speech::write_srt(made);
//
// A Transcriber is cheap to copy and may be used by many threads; recordings take turns, window by
// window. Errors are thrown as pippin::Error (base/exception.h); cancellation works as in
// api/llm.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/byte_span.h"
#include "pippin/base/exception.h"
#include "pippin/base/export.h"
#include "pippin/runtime/load_options.h"
#include "pippin/speech/options.h"
#include "pippin/speech/transcription.h"
#include "pippin/speech/writers/formats.h"

namespace pippin {

// Options of Transcriber::open().
struct TranscriberOptions : runtime::LoadOptions {
  std::string tokenizer = {};  // a folder or a file. Empty: the model's own tokenizer
  // A model of voice for TranscribeOptions::vad_filter: a package of Silero's detector, a folder of
  // one, or org/name. Empty: none.
  std::string vad = {};
};

// Called while a recording is transcribed, by the thread of the call. Each may be null.
struct TranscriptionEvents {
  // The language was detected: a code, and its probability. Not called for a given language.
  std::function<void(const std::string& language, double probability)> detected = {};
  // A segment is complete.
  std::function<void(const speech::Segment& segment)> segment = {};
  // So many of the recording's seconds are done.
  std::function<void(double done, double seconds)> progress = {};
};

// A loaded model of speech with its tokenizer.
class PIPPIN_API Transcriber {
 public:
  // Opens a folder as on the Hub, a package that `pippin convert` made from one, or org/name.
  // Throws NotFound, Unsupported for a model that does not take sound, InvalidFile, Network.
  static Transcriber open(const std::string& path, const TranscriberOptions& options = {});

  // Transcribes mono samples from -1 to 1, which are resampled to sampling_rate() if necessary.
  // Throws InvalidArgument for wrong options and samples that are not finite; Unsupported for words
  // of a model that does not find them and for rates out of range; LimitExceeded for more than 8
  // hours of another rate; Cancelled.
  speech::Transcription transcribe(std::span<const float> samples, int64_t sampling_rate,
                                   const speech::TranscribeOptions& options = {},
                                   const TranscriptionEvents& events = {}) const;
  // Transcribes a file: WAV, FLAC, Ogg, MP3, AIFF, AU or CAF. Also throws NotFound, Io, InvalidFile
  // for a file that is not sound or is damaged, Unsupported if libsndfile or mpg123 is not
  // installed, LimitExceeded.
  speech::Transcription transcribe_file(const std::string& path,
                                        const speech::TranscribeOptions& options = {},
                                        const TranscriptionEvents& events = {}) const;
  // Transcribes the bytes of a file; `name` begins messages. Throws as transcribe_file().
  speech::Transcription transcribe_bytes(ByteSpan file, const std::string& name,
                                         const speech::TranscribeOptions& options = {},
                                         const TranscriptionEvents& events = {}) const;

  // The rate of the samples that the model takes.
  int64_t sampling_rate() const;
  // Whether it finds the times of words.
  bool finds_words() const;

 private:
  struct Impl;
  explicit Transcriber(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace pippin
