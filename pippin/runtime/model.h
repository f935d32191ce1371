// A language model that is loaded: what it takes and what it can do. What it is fed belongs to its
// sequences (sequence.h), of which there may be any number; several are fed in one step by a Batch
// (batch.h).
//
// Programs know models of all package families by these three; each family implements the first
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

// What a model can do beside taking tokens, for callers that have to choose. What it cannot do is
// refused with Unsupported.
struct Capabilities {
  bool truncate = false;  // a sequence can go back to fewer tokens; how far: Sequence::earliest()
  bool fork = false;      // a sequence can go on in two ways
  bool save = false;      // a sequence can be written to a file and read from it
  bool many_sequences = false;  // there can be more than one at a time
  // Several sequences that take one token each in a Batch share each pass over the weights. Pieces
  // of prompts have passes of their own.
  bool shares_passes = false;
  bool slides = false;  // the oldest tokens drop out: a sequence may be longer than the context
  // The model chooses the likeliest token itself and has no logits: those that it gives are -inf
  // but for that token's.
  bool greedy_only = false;
};

// Shared by its sequences, which may be used by threads of their own: what they need of it one
// after the other, it gives to one after the other, in the order in which they come.
class PIPPIN_API Model : public std::enable_shared_from_this<Model> {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  int64_t context() const { return facts_.context; }  // the most tokens that a sequence can have
  int64_t vocab_size() const { return facts_.vocab_size; }
  const Capabilities& capabilities() const { return facts_.capabilities; }
  // How many of the last tokens to begin with anew where a sequence fills the context and should
  // go on.
  int64_t kept_by_shift() const { return facts_.kept_by_shift; }

  // How many bytes of weights fewer a token reads than the packages have for it, because they are
  // kept in a smaller form (engine/weights/e4m7_weight.h).
  uint64_t saved_bytes() const;

  // What the model is, in 64 hexadecimal digits: two loads of the same files have the same.
  const std::string& digest();

  // A sequence with nothing fed yet: a cache and a position of its own, the same weights, plans and
  // threads. It keeps the model. Throws LimitExceeded; Unsupported for a second one where there can
  // only be one.
  std::unique_ptr<Sequence> new_sequence();

  // What the model uses goes when the model is gone.
  void keep(std::shared_ptr<const void> used) { kept_.push_back(std::move(used)); }

 protected:
  struct Facts {
    int64_t context = 0;
    int64_t vocab_size = 0;
    int64_t kept_by_shift = 0;  // 0: half of the context
    Capabilities capabilities;
  };
  Model() = default;
  // Once, by the constructor of whoever implements this.
  void tell(const Facts& facts);

  // --- what a family does, for one thread at a time ---

  virtual std::unique_ptr<Sequence> make_sequence() = 0;
  // Each sequence has one new token, the last of its tokens(), and wants the logits after it. One
  // after the other, where a family knows no better.
  virtual void feed_together(std::span<Sequence* const> sequences);
  virtual uint64_t count_saved_bytes() const { return 0; }
  // What decides the logits: programs, weights, the adapter. Nothing by default.
  virtual void add_to(Digest& /*digest*/) {}

 private:
  friend class Batch;
  friend class Sequence;
  std::vector<std::shared_ptr<const void>> kept_;  // first: used until the rest is gone
  Facts facts_;
  std::string digest_;     // empty: not known yet
  mutable TurnLock lock_;  // of plans, threads and scratch memory
};

// Throws InvalidArgument for no ids, and for ids that are not in the vocabulary.
PIPPIN_API void check_vocabulary(const Model& model, std::span<const int32_t> ids);

}  // namespace pippin::runtime
