// A model that recognizes speech (families/speech.h): from a waveform, or features of it, to tokens
// with their frames. It decodes greedily: CTC, RNN-T and TDT.
//
//   SpeechRecognizer recognizer(model, pool);
//   for (const SpeechToken& token : recognizer.recognize(samples)) ...
//
// The caller extracts the features (input().bins > 0: rows of that many numbers, else samples), as
// the model's preprocessor_config.json says, and divides longer recordings. A token's time is its
// frame times seconds_per_frame().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/compute_options.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/state.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/speech/speech_schema.h"
#include "pippin/runtime/speech/speech_token.h"

namespace pippin::runtime {

class SpeechRecognizer {
 public:
  // Whether the program recognizes speech.
  static bool takes(const mil::Model& model);

  // Throws Unsupported for other programs, InvalidFile for contradictory metadata or functions that
  // do not fit each other, and the errors of engine::Plan::make().
  SpeechRecognizer(std::shared_ptr<const mil::Model> model, std::shared_ptr<ThreadPool> pool,
                   const engine::ComputeOptions& compute = {});
  ~SpeechRecognizer();

  // The input of recognize().
  struct Input {
    int64_t bins;               // numbers of a row of features; 0: samples of the waveform
    int64_t shortest, longest;  // samples or rows
    int64_t sampling_rate;      // of the waveform, per second
    int64_t row_samples;        // samples of the waveform from one row to the next, or 1
  };
  Input input() const;
  double seconds_per_frame() const;
  int64_t vocab_size() const { return schema_.rules.vocab_size; }
  int32_t blank() const { return schema_.rules.blank; }

  // The tokens of one input without padding, in order. `values`: samples, or rows of features one
  // after another. One call at a time. Throws InvalidArgument for an input that is too short, or is
  // not whole rows, LimitExceeded for one that is too long, Cancelled.
  std::vector<SpeechToken> recognize(std::span<const float> values);
  // The encoder's output for such an input, of a CTC model the scores. Throws as recognize().
  EncodedSpeech encode(std::span<const float> values);

 private:
  class Networks;

  // Returns the encoder's output, valid until the next call.
  std::span<const float> run_encoder(std::span<const float> values);

  // Sets the length of the input.
  void bind(int64_t length);

  std::shared_ptr<const mil::Model> model_;
  std::shared_ptr<ThreadPool> pool_;
  SpeechSchema schema_;
  engine::State state_;  // without contents
  engine::Execution encode_;
  size_t input_, output_;
  std::unique_ptr<Networks> networks_;  // of a transducer
};

}  // namespace pippin::runtime
