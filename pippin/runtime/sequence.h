// One sequence of tokens in a model: token ids in, logits out. A sequence keeps a cache of what it
// was fed, so continuing it costs only the new tokens; it can be truncated, forked and saved.
//
// Any thread may use a sequence, but only one at a time: a call made while another thread is in one
// throws InvalidArgument. Sequences of one model may be used by several threads at the same time:
// their calls wait for each other, and throw Cancelled if they are cancelled (base/cancel.h) while
// they wait, before anything is done.
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
#include "pippin/runtime/model.h"
#include "pippin/runtime/sequence_rows.h"

namespace pippin::runtime {

struct CacheArray;
struct SavedSequence;

// The output of a part of a model (a layer, a chunk of layers): a row of `width` numbers per token.
struct HiddenStates {
  std::string name;
  int64_t width = 0;
  std::vector<float> rows;
};

// After which of the tokens that are fed logits are wanted. Others are not computed where that
// saves work.
enum class Rows : uint8_t { None, Last, Every };

class PIPPIN_API Sequence {
 public:
  virtual ~Sequence() = default;
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  Model& model() const { return *model_; }
  // The number of tokens fed so far, not counting a call that another thread is in.
  int64_t position() const { return position_.load(std::memory_order_relaxed); }
  // The tokens themselves, until the next call.
  std::span<const int32_t> tokens() const;

  // Feeds tokens and returns the logits after the last one, [vocab_size], valid until the next
  // call. Throws InvalidArgument for ids that are not in the vocabulary, LimitExceeded if the
  // sequence would exceed the context, Cancelled between pieces of a long prompt: the pieces done
  // by then stay fed, as position() says.
  std::span<const float> prefill(std::span<const int32_t> ids);
  std::span<const float> decode(int32_t id) { return prefill({&id, 1}); }
  // As prefill(), but with the logits after every token, [ids.size(), vocab_size]. Throws
  // Unsupported if the model has no logits.
  std::vector<float> all_logits(std::span<const int32_t> ids);
  // Feeds tokens to an empty sequence and returns the hidden states after each part of the model.
  // For a model that is not made of parts it feeds nothing and returns nothing.
  std::vector<HiddenStates> trace(std::span<const int32_t> ids);
  // The most likely next token, if the model computes the argmax itself.
  std::optional<int32_t> greedy_token();

  void reset();  // forgets all tokens
  // Drops all but the first `count` tokens; the sequence then behaves as if only these had been
  // fed. Throws InvalidArgument for more tokens than there are, Unsupported if the sequence cannot
  // go back that far.
  void truncate(int64_t count);
  // The smallest count, other than 0, that truncate() accepts at this moment.
  int64_t earliest() const;
  // How many tokens can be fed now so that all of them could be dropped again, INT64_MAX for any
  // number; 0: none.
  int64_t droppable() const;
  // An independent sequence with the same tokens and a copy of the cache, as far as it is filled.
  // Throws Unsupported, LimitExceeded.
  std::unique_ptr<Sequence> fork() const;

  // Writes the tokens and the filled part of the cache to a file, which appears complete or not at
  // all. restore() replaces this sequence's by a file's; the logits of the last token are not in
  // it, so feed another one. restore() throws InvalidFile for a file that is truncated, damaged or
  // something else, Unsupported for another version of the format, InvalidArgument for a sequence
  // of another model or context; the sequence is then unchanged.
  void save(const std::filesystem::path& path);
  void restore(const std::filesystem::path& path);

  // --- what was computed of tokens, for other sequences of the model (sequence_rows.h) ---

  // What there is to be copied; empty for a model that keeps nothing, or whose sequences cannot be
  // saved.
  RowLayout row_layout();
  // Of the caches, as far as they are filled.
  uint64_t cached_bytes();
  // The rows of tokens [begin, end), which fill the target. Throws InvalidArgument.
  void copy_rows(int64_t begin, int64_t end, MutableByteSpan target);
  // The rest, as it is now. Throws InvalidArgument, LimitExceeded.
  SequenceRest copy_rest();
  // As prefill(), but with what other sequences computed when they had the same tokens as this one
  // and then `ids`: a row for each id, and the rest behind the last one, if the model has some; it
  // goes into an empty sequence only. There are no logits of the last token, so feed another one.
  // Throws as prefill(), and InvalidArgument for what does not fit; nothing has changed then.
  void append_rows(std::span<const int32_t> ids, std::span<const RowPiece> pieces,
                   const SequenceRest* rest = nullptr);

 protected:
  // The tokens to feed, fed()[begin, end), and which results are wanted.
  struct Feeding {
    int64_t begin = 0;
    Rows rows = Rows::Last;
    std::vector<float>* every = nullptr;         // rows of logits
    std::vector<HiddenStates>* trace = nullptr;  // null: not wanted

    // Whether something is wanted after every token.
    bool wants_every() const { return rows == Rows::Every || trace != nullptr; }
  };

  explicit Sequence(std::shared_ptr<Model> model);

  // --- implemented by families; the caller holds the model's lock ---

  // Throws if `added` more tokens cannot be fed; by default LimitExceeded beyond the context.
  virtual void check_room(int64_t added) const;
  // Reads fed(), writes each wanted row to next_row() and adds to each of feeding.trace.
  virtual void feed(const Feeding& feeding) = 0;
  // Names and widths of the parts that trace() reports.
  virtual std::vector<HiddenStates> parts() const { return {}; }
  // Called after feed() or Model::feed_together() has thrown: returns how many tokens stay; there
  // were `before` of them.
  virtual int64_t give_up(int64_t before) = 0;
  virtual void forget() = 0;  // back to no tokens
  // As earliest(), with the reason why `count` is not 0.
  struct Earliest {
    int64_t count = 0;
    const char* reason = "";
  };
  virtual Earliest find_earliest() const { return {}; }
  virtual int64_t find_droppable() const;  // as droppable(): any number, if the model can truncate
  virtual void cut(int64_t /*count*/) {}   // to `count` tokens, at least find_earliest()
  // Copies what another sequence of the model has computed into this one, which is empty.
  virtual void copy(const Sequence& other) = 0;
  // The caches of a sequence that has or will have `count` tokens: their forms, for which a device
  // copies nothing. None by default.
  virtual std::vector<CacheArray> arrays(int64_t count);
  // The contents of the cache of that index; valid until the next call. A device may copy all of it
  // here, and, where it may be written to, back before the next run.
  virtual ByteSpan read_cache(size_t index);
  virtual MutableByteSpan write_cache(size_t index);
  // RowLayout::limit.
  virtual int64_t row_limit() const { return INT64_MAX; }
  // The caches have the rows of tokens that were not fed here.
  virtual void took_rows() {}
  // Whatever else a saved sequence has to remember.
  virtual uint32_t marks() const { return 0; }
  virtual void set_marks(uint32_t /*marks*/) {}
  // Computes greedy_token(), if it is not known yet.
  virtual std::optional<int32_t> find_greedy_token() { return std::nullopt; }

  const std::vector<int32_t>& fed() const { return tokens_; }
  // Where the next row of wanted logits goes: vocab_size() numbers.
  std::span<float> next_row(const Feeding& feeding);
  std::span<float> next_row() { return row_; }
  std::optional<int32_t> greedy_token_;  // forgotten by whatever changes the tokens

  // For destructors that give something back to the model.
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
  void check(const SavedSequence& saved, const std::string& path) const;
  void feed_new(std::span<const int32_t> ids, Feeding feeding);
  void feed_last();
  RowLayout find_layout();
  void put_rows(const std::vector<CacheArray>& caches, std::span<const RowPiece> pieces);
  void put_rest(const std::vector<CacheArray>& caches, const SequenceRest& rest);
  void begin(std::span<const int32_t> ids);
  void keep(int64_t count);
  void finish() { position_.store(std::ssize(tokens_), std::memory_order_relaxed); }

  const std::shared_ptr<Model> model_;
  mutable std::atomic<bool> is_used_{false};
  std::atomic<int64_t> position_{0};
  std::vector<int32_t> tokens_;  // position_ of them, and those that are being fed
  std::vector<float> row_;       // the logits after the last token
};

}  // namespace pippin::runtime
