// A step of several sequences of a model: next tokens and pieces of prompts, with the logits that
// are wanted of each.
//
//   Batch batch(model);
//   batch.add(a, id);                      // a's next token
//   batch.add(b, id);
//   batch.add(c, piece, Rows::None);       // a piece of c's prompt
//   batch.run();
//   sample(batch.logits(0));
//   batch.clear();                         // for the next step
//
// Sequences that take one token share every pass over the weights, which is what decoding takes
// most of its time for, where the model can (Capabilities::shares_passes); others are computed one
// after another. Whoever is in a step takes part, so sequences join and leave from step to step.
// What a sequence gets is what prefill() and decode() give it, up to the rounding of kernels that
// take several rows. A batch that is used again takes no new memory for next tokens.
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

// Any thread may use a batch, one at a time.
class PIPPIN_API Batch {
 public:
  explicit Batch(std::shared_ptr<Model> model);

  // Gives the index of what was added, from 0 on. The sequence must live until clear(). Throws
  // InvalidArgument for a sequence of another model, one that is there already, and for no ids or
  // ids that are not in the vocabulary; Unsupported for the logits after every token of a model
  // that has none.
  size_t add(Sequence& sequence, std::span<const int32_t> ids, Rows rows = Rows::Last);
  size_t add(Sequence& sequence, int32_t id, Rows rows = Rows::Last) {
    return add(sequence, {&id, 1}, rows);
  }

  // Feeds all, once. Throws before any is fed LimitExceeded where one would pass the context, and
  // InvalidArgument where one is in use by another thread; after another Error the sequences have
  // either been fed or not, as their position() says.
  void run();

  // After run(): the wanted rows of vocab_size() numbers, none for Rows::None. Of one row valid
  // until the next call of the sequence, of several until clear().
  std::span<const float> logits(size_t index) const;
  size_t size() const { return items_.size(); }
  void clear();

 private:
  struct Item {
    Sequence* sequence;
    size_t first, count;  // in ids_
    Rows rows;
    std::vector<float> every;
  };
  class Use;
  std::span<const int32_t> ids(const Item& item) const;
  void feed_together();

  std::shared_ptr<Model> model_;
  std::vector<Item> items_;
  std::vector<int32_t> ids_;
  std::vector<Sequence*> together_;
  bool has_run_ = false;
};

}  // namespace pippin::runtime
