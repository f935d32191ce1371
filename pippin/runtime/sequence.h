// One sequence of tokens in a model: token ids in, logits out. A sequence keeps a cache of the
// tokens fed, so continuing it costs only the new tokens. It can be truncated, forked and saved.
//
// Any thread may use a sequence, but only one at a time: a call made while another thread is in one
// throws InvalidArgument. Sequences of one model may be used by several threads at the same time:
// their calls wait for each other, and throw Cancelled if they are cancelled
// (base/threads/cancel.h) while they wait, before anything is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/runtime/embedded_rows.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/row_runs.h"
#include "pippin/runtime/sampling/candidates.h"
#include "pippin/runtime/sequence_rows.h"
#include "pippin/runtime/source.h"

namespace pippin::engine {
struct StateRows;
}

namespace pippin::runtime {

struct CacheArray;
struct SavedSequence;

// The output of a part of a model (a layer, a chunk of layers): a row of `width` numbers per token.
struct HiddenStates {
  std::string name;         // the name of the part
  int64_t width = 0;        // the numbers per token
  std::vector<float> rows;  // [tokens, width]
};

// A token that a prediction layer expects, and the probability that it assigns to it.
struct PredictedToken {
  int32_t id = 0;          // the token
  double probability = 0;  // from 0 to 1
};

// The fed tokens whose logits are wanted. Others are not computed if that saves work. Token and Top
// accept the device's choice in place of the last token's logits: the most likely next token
// (Sequence::greedy_token()), or some of the most likely ones (Sequence::most_likely()).
enum class Rows : uint8_t { None, Token, Top, Last, Every };

// Tokens in a model, with the cache of their computation.
class PIPPIN_API Sequence {
 public:
  virtual ~Sequence() = default;
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // The model.
  Model& model() const { return *model_; }
  // The number of tokens fed so far, not counting a call that another thread is in.
  int64_t position() const { return position_.load(std::memory_order_relaxed); }
  // The tokens themselves, valid until the next call. Rows of embeddings have negative ids
  // (row_ids.h).
  std::span<const int32_t> tokens() const;

  // Sets, for a sequence without tokens, what the changes of the model's adapters
  // (Model::adapters()) are multiplied by: one number for each, 0 for no change. New sequences have
  // the scales of the applied ones; forks have the same. Throws InvalidArgument for another number
  // of numbers, for infinities and NaN, and for a sequence with tokens.
  void set_adapters(std::span<const float> numbers);
  // Returns these numbers.
  std::span<const float> adapters() const { return adapters_; }

  // Encodes the source of a sequence without tokens, in place of an earlier one. Required before
  // tokens are fed to a model with Model::source(); the tokens are then those of the target, and
  // truncate() and fork() keep the source. Throws Unsupported for models that read tokens only,
  // InvalidArgument for a source of another shape and for a sequence with tokens, Cancelled: the
  // sequence then has no source.
  void set_source(const Source& source);
  // Returns the weights with which each of `ids`, as the first tokens of the target, attends to the
  // source, for the heads that align tokens with it. The sequence's own tokens do not count and
  // stay. Throws Unsupported if SourceForm::alignment_heads is 0; InvalidArgument without a source
  // and for ids that are not in the vocabulary; LimitExceeded for more tokens than the context.
  CrossAttention cross_attention(std::span<const int32_t> ids);

  // Gives rows of embeddings for tokens that will be fed with their ids (row_ids.h), once for each
  // time that they are fed; they are released then. Throws Unsupported for models that read tokens
  // only (Model::rows()), InvalidArgument for rows of another width, values that are not as many,
  // and, if positions have coordinates, a grid of another size.
  void provide(std::shared_ptr<const EmbeddedRows> rows);
  // Releases the rows that were not fed.
  void withdraw_rows();
  // The runs of rows among the tokens, valid until the next call.
  std::span<const RowRun> row_runs() const;
  // As prefill() below, for a prompt with rows, which it provides.
  std::span<const float> prefill_prompt(std::span<const PromptPiece> prompt);

  // Feeds tokens and returns the logits after the last one, [vocab_size], valid until the next
  // call. Throws InvalidArgument for ids that are not in the vocabulary and ids of rows that were
  // not provided, LimitExceeded if the sequence would exceed the context, Cancelled between pieces
  // of a long prompt: the pieces done by then stay fed; position() tells how many tokens.
  std::span<const float> prefill(std::span<const int32_t> ids);
  // As prefill() for one token.
  std::span<const float> decode(int32_t id) { return prefill({&id, 1}); }
  // As prefill(), for Rows::Token, Top or Last: for the first two empty if greedy_token() has the
  // token, or most_likely() the tokens.
  std::span<const float> prefill_choice(std::span<const int32_t> ids, Rows rows);
  // As prefill(), but with the logits after every token, [ids.size(), vocab_size]. Throws
  // Unsupported if the model has no logits.
  std::vector<float> all_logits(std::span<const int32_t> ids);
  // Feeds tokens to an empty sequence and returns the hidden states after each part of the model.
  // If the model has no parts, feeds and returns nothing.
  std::vector<HiddenStates> trace(std::span<const int32_t> ids);
  // The most likely next token, if the model computes the argmax itself, or Rows::Token returned no
  // logits.
  std::optional<int32_t> greedy_token();
  // The most likely next tokens with their logits, in order of id, if Rows::Top returned no logits:
  // all that are more likely than the others, at least kMostLikely or the whole vocabulary. Valid
  // until the next call.
  std::span<const Candidate> most_likely() const { return most_likely_; }

  // Returns the token that the model's prediction layer expects after the sequence's tokens and
  // `ids`, which are not fed: the next token, then those that earlier calls returned. Returns
  // nothing at the end of the context, for a sequence with rows, and until a token has been fed
  // after restore() or append_rows(). Throws Unsupported if the model has no such layer
  // (Capabilities::predicts), InvalidArgument for no ids or one outside the vocabulary, Cancelled.
  std::optional<PredictedToken> predict(std::span<const int32_t> ids);

  // Forgets all tokens, and the source.
  void reset();
  // Drops all but the first `count` tokens; the sequence then behaves as if only these had been
  // fed. Throws InvalidArgument for more tokens than there are, Unsupported if the sequence cannot
  // go back that far, or would end within a run of rows.
  void truncate(int64_t count);
  // Lets truncate() go back to the present tokens, or any number of tokens fed later, also if the
  // model cannot go back (Capabilities::checkpoint): it then restores a copy of the caches without
  // rows per token, which is made here, and feeds the tokens that stay once more, at once or with
  // the next tokens. Replaces an earlier checkpoint. Does nothing if the model has no such caches,
  // or the last checkpoint was restored and few tokens are to be fed again. Throws LimitExceeded.
  void checkpoint();
  // Returns the number of last tokens that will be fed again with the next ones.
  int64_t unfed() const { return unfed_; }
  // Returns the smallest count other than 0 that truncate() accepts now.
  int64_t earliest() const;
  // Returns the number of tokens that can be fed now such that all of them could be dropped again:
  // INT64_MAX for any number, 0 for none.
  int64_t droppable() const;
  // Returns an independent sequence with the same tokens and a copy of the filled part of the
  // cache. Throws Unsupported, LimitExceeded.
  std::unique_ptr<Sequence> fork() const;

  // Writes the tokens and the filled part of the cache to a file, which is written completely or
  // not at all. The file has no logits, so feed another token after restore(). Throws Unsupported
  // if the model cannot, Io.
  void save(const std::filesystem::path& path);
  // Replaces this sequence's content by a file's. Throws NotFound, Io; InvalidFile for a file that
  // is truncated, damaged or of another kind; Unsupported for another version of the format;
  // InvalidArgument for a sequence of another model or context; the sequence is then unchanged.
  void restore(const std::filesystem::path& path);

  // --- computed rows, for other sequences of the model (sequence_rows.h) ---

  // Returns the layout of the data to copy. Empty for a model without caches or whose sequences
  // cannot be saved.
  RowLayout row_layout();
  // Returns the bytes of the caches that are filled.
  uint64_t cached_bytes();
  // Copies the rows of tokens [begin, end), which fill `target`. Throws InvalidArgument for another
  // size, for tokens that the sequence does not have, and beyond RowLayout::limit.
  void copy_rows(int64_t begin, int64_t end, MutableByteSpan target);
  // Copies the rest in its current state. Throws InvalidArgument if the model has no rest or the
  // sequence is beyond RowLayout::limit, LimitExceeded.
  SequenceRest copy_rest();
  // As prefill(), but from data that other sequences computed for the tokens of this sequence
  // followed by `ids`: one row per id and, if the model has a rest, the rest after the last id,
  // which requires an empty sequence. The last token has no logits, so feed another one.
  // Throws the errors of prefill(), and InvalidArgument for data that does not fit; the sequence is
  // then unchanged.
  void append_rows(std::span<const int32_t> ids, std::span<const RowPiece> pieces,
                   const SequenceRest* rest = nullptr);

 protected:
  // The tokens to feed, fed()[begin, end), and the wanted results.
  struct Feeding {
    int64_t begin = 0;
    Rows rows = Rows::Last;
    std::vector<float>* every = nullptr;         // rows of logits
    std::vector<HiddenStates>* trace = nullptr;  // null: not wanted

    // Whether results after every token are wanted.
    bool wants_every() const { return rows == Rows::Every || trace != nullptr; }
  };

  explicit Sequence(std::shared_ptr<Model> model);

  // --- implemented by families; the caller holds the model's lock ---

  // Throws if `added` more tokens cannot be fed; by default LimitExceeded beyond the context.
  virtual void check_room(int64_t added) const;
  // Reads fed(), of which tokens before position() may be fed again (Capabilities::feeds_late),
  // writes each wanted row to next_row() and adds to each of feeding.trace.
  virtual void feed(const Feeding& feeding) = 0;
  // Names and widths of the parts that trace() reports.
  virtual std::vector<HiddenStates> parts() const { return {}; }
  // Called after feed() or Model::feed_together() has thrown. Returns how many tokens stay; there
  // were `before`.
  virtual int64_t give_up(int64_t before) = 0;
  virtual void forget() = 0;  // drops all tokens
  // As set_source(), for a source of the right shape.
  virtual void encode(const Source& /*source*/) {}
  virtual void forget_source() {}
  // As cross_attention(), for tokens that fit.
  virtual CrossAttention align(std::span<const int32_t> /*ids*/) { return {}; }
  // As earliest(), with the reason if `count` is not 0.
  struct Earliest {
    int64_t count = 0;
    const char* reason = "";
  };
  virtual Earliest find_earliest() const { return {}; }
  virtual int64_t find_droppable() const;  // droppable(); any number if the model can truncate
  virtual void cut(int64_t /*count*/) {}   // to `count` tokens, at least find_earliest()
  // Copies the computed data of another sequence of the model into this one, which is empty.
  virtual void copy(const Sequence& other) = 0;
  // The layouts of the caches of a sequence that has or will have `count` tokens, without copying
  // from a device. None by default.
  virtual std::vector<CacheArray> arrays(int64_t count);
  // Copies rows of the cache with that index, from or to memory in which a group begins `stride`
  // bytes after the previous one. For a cache on a device, copies nothing else.
  virtual void read_cache(size_t index, const engine::StateRows& rows, std::byte* to,
                          uint64_t stride);
  virtual void write_cache(size_t index, const engine::StateRows& rows, const std::byte* from,
                           uint64_t stride);
  // RowLayout::limit.
  virtual int64_t row_limit() const { return INT64_MAX; }
  // Called when the caches have received the rows of the tokens from `begin` on, which were not fed
  // here.
  virtual void took_rows(int64_t /*begin*/) {}
  // Called before rows of tokens are copied: writes those that are not in the caches yet.
  virtual void complete_rows() {}
  // The first of arrays(), which are all that a file has.
  virtual size_t num_saved(size_t all) const { return all; }
  // As predict(), for ids of the vocabulary.
  virtual std::optional<PredictedToken> predict_next(std::span<const int32_t> /*ids*/) {
    return std::nullopt;
  }
  // Additional state of a saved sequence.
  virtual uint32_t marks() const { return 0; }
  virtual void set_marks(uint32_t /*marks*/) {}
  // Computes greedy_token() if it is not known yet.
  virtual std::optional<int32_t> find_greedy_token() { return std::nullopt; }

  const std::vector<int32_t>& fed() const { return tokens_; }
  const RowRuns& runs() const { return runs_; }  // of fed()
  // The target of the next row of wanted logits: vocab_size() numbers.
  std::span<float> next_row(const Feeding& feeding);
  std::span<float> next_row() { return row_; }
  // Forgotten with every change of the tokens.
  std::optional<int32_t> greedy_token_;
  std::vector<Candidate> most_likely_;
  Rows last_row_ = Rows::Last;  // of the last requested row: Token, Top or Last

  // For destructors that return resources to the model.
  [[nodiscard]] std::unique_lock<TurnLock> lock_model() const {
    return std::unique_lock(model_->lock_);
  }

 private:
  friend class Batch;
  friend class Model;
  class Use;

  void enter() const;
  void leave() const noexcept { is_used_.store(false, std::memory_order_release); }
  void check(std::span<const int32_t> ids) const;
  void check_rows(std::span<const int32_t> ids, RowForm::Sight sight) const;
  void check(const SavedSequence& saved, const std::string& path) const;
  std::vector<CacheArray> saved_arrays(int64_t count);
  void feed_new(std::span<const int32_t> ids, Feeding feeding, Rows last_row = Rows::Last);
  void feed_last();
  RowLayout find_layout();
  void put_rows(const std::vector<CacheArray>& caches, std::span<const RowPiece> pieces);
  void put_rest(const std::vector<CacheArray>& caches, const SequenceRest& rest);
  SequenceRest copy_rest_here();
  void feed_or_give_up(const Feeding& feeding, int64_t before);
  void settle();  // feeds unfed tokens, even if the call is cancelled
  bool can_restore(int64_t count) const { return checkpoint_ && checkpoint_->count <= count; }
  void restore_checkpoint(int64_t count);
  void begin(std::span<const int32_t> ids, Rows last_row);
  void forget_choice();
  std::span<const float> row_unless_chosen() const;
  void keep(int64_t count);
  void finish() {
    position_.store(std::ssize(tokens_), std::memory_order_relaxed);
    if (!runs_.is_empty()) runs_.release(std::ssize(tokens_));
  }

  // Identifies saved data: the model, with the adapters that are not 0.
  std::string digest() const;

  const std::shared_ptr<Model> model_;
  std::vector<float> adapters_;  // one number for each of the model's
  mutable std::atomic<bool> is_used_{false};
  std::atomic<int64_t> position_{0};
  std::vector<int32_t> tokens_;  // position_ of them, then those being fed
  RowRuns runs_;                 // of tokens_
  std::vector<float> row_;       // the logits after the last token
  std::optional<SequenceRest> checkpoint_;
  int64_t unfed_ = 0;  // of tokens_, the last ones that the caches lack
};

}  // namespace pippin::runtime
