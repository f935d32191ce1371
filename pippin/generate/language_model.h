// A causal language model that is being fed one sequence: token ids in, logits out.
//
// Generation, benchmarks and checks know a model through this interface only; each package
// family implements it. A model keeps what it was fed (its KV cache), so a longer sequence costs
// only its new tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pippin::generate {

// What a part of a model (a layer, a chunk of layers) gives: a row of `width` numbers per token.
struct HiddenStates {
  std::string name;
  int64_t width = 0;
  std::vector<float> rows;
};

class LanguageModel;

// What a sequence is fed next; see decode_together().
struct NextToken {
  LanguageModel* sequence = nullptr;
  int32_t id = 0;
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  virtual int64_t context() const = 0;  // the most tokens that a sequence can have
  virtual int64_t vocab_size() const = 0;
  virtual int64_t position() const = 0;  // tokens fed so far
  virtual void reset() = 0;              // forgets the sequence

  // Feeds tokens and gives the logits that follow the last one; valid until the next call, of this
  // sequence or another one of the same model. Throws
  // InvalidArgument for ids that are not in the vocabulary, LimitExceeded where the sequence would
  // pass the context, Cancelled between parts of a long prompt.
  virtual std::span<const float> prefill(std::span<const int32_t> ids) = 0;
  virtual std::span<const float> decode(int32_t id) = 0;

  // As prefill, with the logits that follow every token: ids.size() rows of vocab_size().
  virtual std::vector<float> all_logits(std::span<const int32_t> ids) = 0;

  // Whether the oldest tokens drop out by themselves where a sequence passes context(): such a
  // model takes sequences of any length.
  virtual bool slides() const { return false; }
  // How many of the last tokens to begin with anew where a sequence fills the context and should
  // go on.
  virtual int64_t kept_by_shift() const { return (context() + 1) / 2; }

  // Whether the model chooses the likeliest token itself and has no logits: those that prefill()
  // and decode() give are -inf but for that token's.
  virtual bool greedy_only() const { return false; }
  // The token that follows the last one fed, where the model's own files can choose it.
  virtual std::optional<int32_t> likeliest() { return std::nullopt; }

  // How many bytes of weights fewer a token reads than the packages have for it, because they are
  // kept in a smaller form (engine/e4m7_weight.h).
  virtual uint64_t saved_bytes() const { return 0; }

  // Feeds tokens to a model that was reset and gives what leaves each of its parts, for those that
  // are made of parts; nothing for others.
  virtual std::vector<HiddenStates> trace(std::span<const int32_t> /*ids*/) { return {}; }

  // Another sequence of the same model, with nothing fed yet: a cache and a position of its own,
  // the same weights, plans and threads. Any number of them, each used as a model by itself; only
  // one thread at a time may use those of one model. It may outlive this one, but not the program
  // and the pool. Null where a model holds only one sequence.
  virtual std::unique_ptr<LanguageModel> new_sequence() { return nullptr; }

  // What the sequences of one model have in common; others have another.
  virtual const void* shared() const { return this; }
  // decode() of several sequences whose shared() is this one's, with ids that are checked: a row of
  // logits for each. For decode_together().
  virtual void decode_group(std::span<const NextToken> next,
                            std::vector<std::span<const float>>& logits);
};

// decode() of several sequences, each with its own token: the logits of each, valid until the next
// call of any of them. Sequences of one model share every pass over the weights, which is what
// decoding one takes most of its time for; whoever is in the list takes part, so sequences join
// and leave from call to call. Those of different models, and of models that cannot share, are
// computed one after another. What a sequence gets is what decode() gives it, up to the rounding of
// kernels that take several rows.
//
// Throws before any is fed what decode() throws for wrong ids, and InvalidArgument where a sequence
// is there twice. After another Error the sequences that it met have either been fed or not, as
// position() says.
std::vector<std::span<const float>> decode_together(std::span<const NextToken> next);

// Throws InvalidArgument for no ids, and for ids that are not in the vocabulary.
void check_vocabulary(const LanguageModel& model, std::span<const int32_t> ids);
// What prefill() and decode() throw for wrong ids. A model that slides has no limit of tokens.
void check_ids(const LanguageModel& model, std::span<const int32_t> ids);

}  // namespace pippin::generate
