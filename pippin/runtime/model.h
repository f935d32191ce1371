// A loaded language model. Tokens and caches belong to its sequences (sequence.h), of which a model
// may have any number; a Batch (batch.h) feeds several of them in one step.
//
// These three are the interface to models of every package family; each family implements the first
// two.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/base/threads/fork.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/row_runs.h"
#include "pippin/runtime/source.h"

namespace pippin {
class Digest;
}

namespace pippin::runtime {

class Sequence;

// The optional abilities of a model. Calls that need a missing one throw Unsupported.
struct Capabilities {
  bool truncate = false;  // a sequence can drop its last tokens, back to Sequence::earliest()
  // Sequence::checkpoint() lets a sequence go back where truncate() cannot.
  bool checkpoint = false;
  // The tokens that stay when a checkpoint is restored are fed with the next ones, not at once.
  bool feeds_late = false;
  bool fork = false;            // a sequence can be copied and continued in two ways
  bool save = false;            // a sequence can be written to a file and restored from it
  bool many_sequences = false;  // several can exist at a time
  // Sequences in a Batch that take one token each share one pass over the weights. Pieces of
  // prompts take separate passes.
  bool shares_passes = false;
  // One pass returns the logits after each of its tokens; otherwise each of these tokens takes its
  // own pass.
  bool every_row = true;
  // The most tokens of a pass whose logits have the same bits as those of single tokens.
  int64_t equal_rows = 16;
  bool sliding_window = false;  // a sequence may be longer than the context
  // The model computes the argmax itself and has no logits: they are -inf except that token's.
  bool greedy_only = false;
  // A layer of the model predicts tokens after the next one: Sequence::predict().
  bool predicts = false;
};

// Shared by its sequences, each of which may be used by its own thread. Resources that only one of
// them can use at a time are granted in the order of requests.
class PIPPIN_API Model : public std::enable_shared_from_this<Model> {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // The most tokens of a sequence.
  int64_t context() const { return facts_.context; }
  // The number of tokens, and of logits.
  int64_t vocab_size() const { return facts_.vocab_size; }
  // The number of ids that can be fed: more than vocab_size() if the embedding has further rows.
  int64_t num_ids() const { return facts_.num_ids; }
  // The abilities of its sequences.
  const Capabilities& capabilities() const { return facts_.capabilities; }
  // The sources that its sequences need before tokens: Sequence::set_source(). None: sequences
  // consist of tokens only.
  const std::optional<SourceForm>& source() const { return facts_.source; }
  // The rows of embeddings that its sequences take in place of tokens: Sequence::provide(). None:
  // tokens only.
  const std::optional<RowForm>& rows() const { return facts_.rows; }
  // The adapters that its sequences choose from: Sequence::set_adapters().
  const std::vector<RunAdapter>& adapters() const { return facts_.adapters; }
  // The number of last tokens to restart with when a sequence fills the context and is to continue.
  int64_t tokens_after_shift() const { return facts_.tokens_after_shift; }

  // The bytes of weights that a token does not have to read, because some weights are kept in a
  // smaller form than in the packages (engine/weights/e4m7_weight.h).
  uint64_t saved_bytes() const;

  // A SHA-256 of everything that determines the logits, as 64 hexadecimal digits: the same for
  // every load of the same files.
  const std::string& digest();

  // Returns an empty sequence with its own cache and position; weights, plans and threads are
  // shared. The sequence keeps the model alive. Throws LimitExceeded if memory is not sufficient,
  // and Unsupported for a second sequence if the model allows only one.
  std::unique_ptr<Sequence> new_sequence();

  // Keeps an object that the model uses alive as long as the model.
  void keep(std::shared_ptr<const void> used) { kept_.push_back(std::move(used)); }

 protected:
  struct Facts {
    int64_t context = 0;
    int64_t vocab_size = 0;
    int64_t tokens_after_shift = 0;  // 0: half of the context
    Capabilities capabilities;
    std::optional<SourceForm> source = std::nullopt;
    int64_t num_ids = 0;  // 0: vocab_size
    std::optional<RowForm> rows = std::nullopt;
    std::vector<RunAdapter> adapters = {};
  };
  Model() = default;
  // Called once, by the constructor of the implementation.
  void tell(const Facts& facts);

  // --- implemented by families; called by one thread at a time ---

  virtual std::unique_ptr<Sequence> make_sequence() = 0;
  // Feeds the last of each sequence's tokens(), which is new, and computes the logits after it. The
  // default runs one sequence after the other.
  virtual void feed_together(std::span<Sequence* const> sequences);
  virtual uint64_t count_saved_bytes() const { return 0; }
  // Adds everything that determines the logits: programs, weights, the adapter. Adds nothing by
  // default.
  virtual void add_to(Digest& /*digest*/) {}

 private:
  friend class Batch;
  friend class Sequence;
  std::vector<std::shared_ptr<const void>> kept_;  // declared first: destroyed last
  Facts facts_;
  std::string digest_;     // empty: not yet computed
  mutable TurnLock lock_;  // guards plans, threads and scratch memory
};

// Throws InvalidArgument for no ids or an id that cannot be fed; the message has the id.
PIPPIN_API void check_ids(const Model& model, std::span<const int32_t> ids);
// The same, except for negative ids if the model takes rows, which the sequence checks.
PIPPIN_API void check_fed_ids(const Model& model, std::span<const int32_t> ids);
// Throws InvalidArgument unless there is a finite number for each adapter of the model.
PIPPIN_API void check_adapters(const Model& model, std::span<const float> numbers);
// The same as check_ids() for an id without a logit.
PIPPIN_API void check_vocabulary(const Model& model, std::span<const int32_t> ids);

}  // namespace pippin::runtime
