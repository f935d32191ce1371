// Models of an encoder and a decoder (families/rewriter.h) behind the interface of language models.
//
// The tokens that an empty sequence is fed first are the source: the encoder reads them at once,
// and the logits are those of the first token that the decoder writes. What is fed then is what is
// written. Logits after tokens of the source there are none.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/base/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/state.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

class RewriterModel final : public Model {
 public:
  // Whether a program is one.
  static bool takes(const mil::Model& model);

  // `model` and `pool` must outlive it. Throws Unsupported for a program that is none.
  RewriterModel(const mil::Model& model, ThreadPool& pool, const LoadOptions& options);

  int64_t most_tokens() const { return most_tokens_; }  // of a source, and of what is written
  engine::State new_state() const;
  // Fills the state's slots of a source.
  void encode(std::span<const int32_t> source, engine::State& state);
  // Tokens at positions [past, past + ids.size()) of what is written; the logits after each.
  std::span<const float> decode(std::span<const int32_t> ids, int64_t past, int64_t source,
                                engine::State& state);
  int32_t start() const { return start_; }

 protected:
  std::unique_ptr<Sequence> make_sequence() override;
  void add_to(Digest& digest) override;

 private:
  engine::Execution make(const char* function, mil::SizeRange query) const;

  const mil::Model& program_;
  ThreadPool& pool_;
  engine::ComputeOptions compute_;
  int64_t most_tokens_;
  int32_t start_;
  engine::Execution encode_, step_, several_;  // several: two tokens and more
};

}  // namespace pippin::runtime
