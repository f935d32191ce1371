// Encoder–decoder models (families/encoder_decoder.h) with the interface of language models.
//
// The first tokens fed to an empty sequence are the source: the encoder reads them in one pass, and
// the logits are those of the decoder's first token. Tokens fed later are the target. No
// logits for source tokens.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/state.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

class EncoderDecoderModel final : public Model {
 public:
  // Whether the program is an encoder–decoder.
  static bool takes(const mil::Model& model);

  // `model` and `pool` must outlive it. Throws Unsupported for other programs.
  EncoderDecoderModel(const mil::Model& model, ThreadPool& pool, const LoadOptions& options);

  int64_t most_tokens() const { return most_tokens_; }  // of the source, and of the target
  engine::State new_state() const;
  // Fills the state's slots for a source.
  void encode(std::span<const int32_t> source, engine::State& state);
  // Decodes target tokens at positions [past, past + ids.size()); returns the logits after each.
  std::span<const float> decode(std::span<const int32_t> ids, int64_t past, int64_t source,
                                engine::State& state);
  int32_t start() const { return start_; }
  // The first token that is written, below 0: any.
  int32_t first() const { return first_; }

 protected:
  std::unique_ptr<Sequence> make_sequence() override;
  void add_to(Digest& digest) override;

 private:
  engine::Execution make(const char* function, mil::SizeRange query) const;

  const mil::Model& program_;
  ThreadPool& pool_;
  engine::ComputeOptions compute_;
  int64_t most_tokens_;
  int32_t start_, first_;
  engine::Execution encode_, step_, several_;  // several: two or more tokens
};

}  // namespace pippin::runtime
