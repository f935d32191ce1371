// One step of several sequences of a model. Each adds its next token or a piece of its prompt, and
// says which logits it wants.
//
//   Batch batch(model);
//   batch.add(a, id);                      // a's next token
//   batch.add(b, id);
//   batch.add(c, piece, Rows::None);       // a piece of c's prompt
//   batch.run();
//   sample(batch.logits(0));
//   batch.clear();                         // for the next step
//
// Sequences that take one token share one pass over the weights, where most of the time of decoding
// goes, if the model can do that (Capabilities::shares_passes); others are computed one after
// another. Sequences may join and leave from step to step. A sequence gets the same logits as from
// prefill() and decode(). Reusing a batch allocates nothing for next tokens.
//
// A model over several machines computes on all of them if several batches are in flight: start()
// each, then finish() the first one and start it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

// Sequences of one model and the tokens that they take in one step. May be used by any thread, by
// one at a time.
class PIPPIN_API Batch {
 public:
  // An empty batch for sequences of this model.
  explicit Batch(std::shared_ptr<Model> model);
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();  // ends a step in flight

  // Adds tokens of a sequence and returns the index of the entry, counted from 0. The sequence must
  // live until clear(). Throws InvalidArgument after run(), for a sequence of another model, a
  // sequence that is already in the batch, no ids, or ids outside the vocabulary; Unsupported for
  // several rows of logits if the model has none. Rows of embeddings have negative ids and are
  // provided to the sequence before run().
  size_t add(Sequence& sequence, std::span<const int32_t> ids, Rows rows = Rows::Last);
  size_t add(Sequence& sequence, int32_t id, Rows rows = Rows::Last) {
    return add(sequence, {&id, 1}, rows);
  }

  // Feeds all entries, once. Before any is fed, throws LimitExceeded if one would exceed the
  // context and InvalidArgument if one is in use by another thread, the batch has run, or rows were
  // not provided. After any other Error each sequence has either been fed or not; its position()
  // tells.
  void run();
  // Feeds all entries as run() does, but may return before the logits are computed; finish() waits
  // for them. Until then the sequences are in use. Returns early if the model is split over several
  // machines, all entries take one token, and no more steps are in flight than machines. Throws the
  // errors of run().
  void start();
  // Waits for the step that was started, if it is in flight. Throws the errors of run(); no step is
  // in flight then.
  void finish();

  // The wanted logits after run(), [rows, vocab_size]; empty for Rows::None, and for Rows::Token
  // and Rows::Top if the sequence has its greedy_token() or most_likely() tokens. Valid until the
  // next call of the sequence for one row, until clear() for Rows::Every.
  std::span<const float> logits(size_t index) const;
  // The number of entries.
  size_t size() const { return items_.size(); }
  // Removes all entries, for the next step. Ends one in flight.
  void clear();

 private:
  struct Item {
    Sequence* sequence;
    size_t first, count;  // within ids_
    Rows rows;
    std::vector<float> every;
  };
  class Use;
  struct Flight;
  std::span<const int32_t> ids(const Item& item) const;
  void feed(bool may_return_early);
  void begin_together();
  template <typename Body>
  void with_together(const Body& body);

  std::shared_ptr<Model> model_;
  std::vector<Item> items_;
  std::vector<int32_t> ids_;
  std::vector<Sequence*> together_;
  bool has_run_ = false;
  std::unique_ptr<Flight> flight_;  // null: no step is in flight
};

}  // namespace pippin::runtime
