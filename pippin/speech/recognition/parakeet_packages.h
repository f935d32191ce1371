// FluidAudio's packages of Parakeet (families/fluidaudio.h) as a recognizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/package/fixed_part.h"
#include "pippin/runtime/package/folder.h"
#include "pippin/runtime/speech/transducer_decoding.h"
#include "pippin/speech/recognition/recognizer.h"

namespace pippin::speech {

// Texts of parakeet_vocab.json, by id: a list of pieces, or an object of them. "\u2581" begins
// words; special tokens, such as <unk>, have no text.
class PieceVocabulary {
 public:
  // Throws InvalidFile for anything else, naming the file.
  static PieceVocabulary read(const std::filesystem::path& file);
  static bool is_in(const std::filesystem::path& folder);

  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  // Empty for other ids.
  std::string text(int32_t id) const;

 private:
  std::vector<std::string> texts_;
};

class ParakeetPackages final : public Recognizer {
 public:
  // `pool` must outlive it. `tokens`: those of the vocabulary, the blank not counted. Throws
  // NotFound for a missing package, InvalidArgument for several encoders, InvalidFile and
  // Unsupported, in one line with the package and the input, for those of other shapes.
  ParakeetPackages(runtime::PackageFolder folder, int64_t tokens, ThreadPool& pool,
                   const engine::ComputeOptions& compute);
  ~ParakeetPackages() override;

  int64_t sampling_rate() const override;
  size_t most_samples() const override { return static_cast<size_t>(samples_); }
  bool finds_times() const override { return true; }
  std::vector<RecognizedToken> recognize(std::span<const float> samples) override;
  runtime::EncodedSpeech encode(std::span<const float> samples) override;

 private:
  class Steps;

  // Returns the number of steps of the window.
  int64_t run_encoder(std::span<const float> samples);

  runtime::PackageFolder folder_;
  runtime::FixedPart preprocessor_, encoder_;
  std::unique_ptr<Steps> steps_;
  runtime::TransducerRules rules_;
  int64_t samples_ = 0, step_samples_ = 0;
  size_t audio_ = 0, audio_length_ = 0, mel_out_ = 0, mel_length_out_ = 0;
  size_t mel_ = 0, mel_length_ = 0, encoded_ = 0, encoded_length_ = 0;
  std::mutex mutex_;  // of the parts
};

}  // namespace pippin::speech
