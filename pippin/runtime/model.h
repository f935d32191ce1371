// A loaded language model. Tokens and caches belong to its sequences (sequence.h), of which there
// may be any number; a Batch (batch.h) feeds several of them in one step.
//
// These three are the interface to models of every package family; each family implements the first
// two.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/base/fork.h"

namespace pippin {
class Digest;
}

namespace pippin::runtime {

class Sequence;

// What a model can do besides taking tokens. Anything that it cannot do throws Unsupported.
struct Capabilities {
  bool truncate = false;  // a sequence can drop its last tokens; how many: Sequence::earliest()
  bool fork = false;      // a sequence can be continued in two ways
  bool save = false;      // a sequence can be written to a file and restored from it
  bool many_sequences = false;  // there can be more than one at a time
  // Sequences that take one token each in a Batch share one pass over the weights. Pieces of
  // prompts take passes of their own.
  bool shares_passes = false;
  // One pass gives the logits after each of its tokens; else those of a sequence's every token take
  // a pass each.
  bool every_row = true;
  bool slides = false;  // a sliding window: a sequence may be longer than the context
  // The model computes the argmax itself and has no logits: all that it returns are -inf except the
  // one of that token.
  bool greedy_only = false;
};

// Shared by its sequences, each of which may be used by its own thread: whatever only one can use
// at a time goes to them in the order in which they ask.
class PIPPIN_API Model : public std::enable_shared_from_this<Model> {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  int64_t context() const { return facts_.context; }  // the most tokens that a sequence can have
  int64_t vocab_size() const { return facts_.vocab_size; }
  const Capabilities& capabilities() const { return facts_.capabilities; }
  // How many of the last tokens to start over with when a sequence fills the context and should go
  // on.
  int64_t kept_on_shift() const { return facts_.kept_on_shift; }

  // How many fewer bytes of weights a token reads than the packages store for it, because some are
  // kept in a smaller form (engine/weights/e4m7_weight.h).
  uint64_t saved_bytes() const;

  // A SHA-256 of what decides the logits, in 64 hexadecimal digits: the same for every load of the
  // same files.
  const std::string& digest();

  // An empty sequence with its own cache and position; weights, plans and threads are shared. It
  // keeps the model alive. Throws LimitExceeded if there is no memory for it; Unsupported for a
  // second one where there can be only one.
  std::unique_ptr<Sequence> new_sequence();

  // Keeps something that the model uses alive for as long as the model.
  void keep(std::shared_ptr<const void> used) { kept_.push_back(std::move(used)); }

 protected:
  struct Facts {
    int64_t context = 0;
    int64_t vocab_size = 0;
    int64_t kept_on_shift = 0;  // 0: half of the context
    Capabilities capabilities;
  };
  Model() = default;
  // To be called once, by the constructor of the implementation.
  void tell(const Facts& facts);

  // --- implemented by families; called by one thread at a time ---

  virtual std::unique_ptr<Sequence> make_sequence() = 0;
  // Each sequence has one new token, the last of its tokens(), and wants the logits after it. By
  // default one after the other.
  virtual void feed_together(std::span<Sequence* const> sequences);
  virtual uint64_t count_saved_bytes() const { return 0; }
  // Adds what decides the logits: programs, weights, the adapter. Nothing by default.
  virtual void add_to(Digest& /*digest*/) {}

 private:
  friend class Batch;
  friend class Sequence;
  std::vector<std::shared_ptr<const void>> kept_;  // first: used until the rest is gone
  Facts facts_;
  std::string digest_;     // empty: not known yet
  mutable TurnLock lock_;  // of plans, threads and scratch memory
};

// Throws InvalidArgument if there are no ids, or one that is not in the vocabulary.
PIPPIN_API void check_vocabulary(const Model& model, std::span<const int32_t> ids);

}  // namespace pippin::runtime
