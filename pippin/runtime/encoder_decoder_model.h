// Encoder–decoder models (families/encoder_decoder.h) with the interface of language models.
//
// If the source is a text, the first tokens fed to an empty sequence are the source: the encoder
// reads them in one pass, and the logits are those of the decoder's first token. Tokens fed later
// are the target. There are no logits for source tokens. If the source is a recording, it is given
// by Sequence::set_source(), and all tokens are the target's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/state.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/encoder_decoder_schema.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/spare_states.h"

namespace pippin::runtime {

class FixedPart;  // package/fixed_part.h

class EncoderDecoderModel final : public Model {
 public:
  // `model` and `pool` must outlive it. Throws Unsupported for other programs, and the errors of
  // reading the encoder's package; InvalidFile, in one line, if it is not the model's encoder.
  EncoderDecoderModel(const mil::Model& model, ThreadPool& pool, const LoadOptions& options);
  ~EncoderDecoderModel() override;

  const EncoderDecoderSchema& schema() const { return schema_; }  // with the options' limits
  engine::State new_state();
  void keep_state(engine::State&& state) noexcept { spare_states_.keep(std::move(state)); }
  // Whether a state belongs to the source.
  static bool is_cross(const mil::Feature& state);

  // Fill the state's slots for a source.
  void encode(std::span<const int32_t> source, engine::State& state);
  // Returns the number of its states.
  int64_t encode(const Source& source, engine::State& state);
  // The encoder's output, if it last ran for the state with that id.
  std::optional<HiddenStates> encoded(uint64_t state) const;
  // Decodes target tokens at positions [past, past + ids.size()), at most kMostAtOnce, that attend
  // to `source` states. Returns the logits after each; `last`: of the last one only.
  std::span<const float> decode(std::span<const int32_t> ids, int64_t past, int64_t source,
                                engine::State& state, bool last);
  // One token of each of several targets in one pass over the weights.
  struct NextToken {
    int32_t id;
    int64_t past, source;
    engine::State& state;
  };
  void decode_together(std::span<const NextToken> tokens);
  // The logits of decode_together(), by token.
  std::span<const float> logits_of(size_t token) const { return step_.last_logits(1, token); }
  CrossAttention align(std::span<const int32_t> ids, engine::State& state);

  static constexpr int64_t kMostAtOnce = 64;  // tokens of the target in a run

 protected:
  std::unique_ptr<Sequence> make_sequence() override;
  void feed_together(std::span<Sequence* const> sequences) override;
  void add_to(Digest& digest) override;

 private:
  // A plan of `main` with the indices of its inputs.
  struct Step {
    explicit Step(engine::Execution made);
    // Writes the inputs of a lane.
    void put(std::span<const int32_t> tokens, int64_t past, int64_t source, engine::State& state,
             size_t lane);
    // Of the last of `query` tokens.
    std::span<const float> last_logits(int64_t query, size_t lane) const;

    engine::Execution execution;
    size_t ids, mask, logits;
    std::optional<size_t> source_mask;
    std::vector<std::vector<int64_t>> shapes;
  };
  engine::Execution make(const char* function, mil::SizeRange query) const;

  // Of LoadOptions::encoder, checked; null if that is empty.
  std::unique_ptr<FixedPart> open_encoder(const std::string& package) const;

  const mil::Model& program_;
  ThreadPool& pool_;
  engine::ComputeOptions compute_;
  EncoderDecoderSchema schema_;
  SpareStates spare_states_;
  std::unique_ptr<FixedPart> encoder_;  // runs before encode_; null: encode_ is all
  engine::Execution encode_;
  uint64_t encoded_ = 0;                    // the id of the state that it filled last
  Step step_, several_;                     // several: two or more tokens
  std::vector<size_t> lanes_;               // numbers from 0 on
  std::optional<engine::Execution> align_;  // made on first use
};

}  // namespace pippin::runtime
