// Somebody's text in a model: token ids in, logits out. A sequence keeps what it was fed (its
// cache), so a longer one costs only its new tokens; it can be cut back, forked and saved.
//
// Any thread may use a sequence, one at a time: while one is in a call, a call of another one
// throws InvalidArgument. Sequences of one model may be used by several threads at the same time:
// their calls wait for each other, and throw Cancelled where they are cancelled (base/cancel.h)
// while they wait, with nothing done.
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

namespace pippin::runtime {

struct CacheArray;
struct SavedSequence;

// What a part of a model (a layer, a chunk of layers) gives: a row of `width` numbers per token.
struct HiddenStates {
  std::string name;
  int64_t width = 0;
  std::vector<float> rows;
};

// After which of the tokens that are fed the logits are wanted. What is not wanted is not computed
// where that saves something.
enum class Rows : uint8_t { None, Last, Every };

class PIPPIN_API Sequence {
 public:
  virtual ~Sequence() = default;
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  Model& model() const { return *model_; }
  // Tokens fed so far; of another thread's call those before it.
  int64_t position() const { return position_.load(std::memory_order_relaxed); }
  // The tokens themselves, until the next call.
  std::span<const int32_t> tokens() const;

  // Feeds tokens and gives the logits that follow the last one; valid until the next call. Throws
  // InvalidArgument for ids that are not in the vocabulary, LimitExceeded where the sequence would
  // pass the context, Cancelled between parts of a long prompt: what was computed by then may stay
  // fed, position() says how much.
  std::span<const float> prefill(std::span<const int32_t> ids);
  std::span<const float> decode(int32_t id) { return prefill({&id, 1}); }
  // As prefill, with the logits that follow every token: ids.size() rows of vocab_size(). Throws
  // Unsupported where the model does not give them.
  std::vector<float> all_logits(std::span<const int32_t> ids);
  // Feeds tokens to a sequence that has none and gives what leaves each part of the model, where it
  // is made of parts; otherwise feeds nothing and gives nothing.
  std::vector<HiddenStates> trace(std::span<const int32_t> ids);
  // The token that follows the last one fed, where the model's own files can choose it.
  std::optional<int32_t> likeliest();

  void reset();  // forgets all tokens
  // Forgets all but the first `count` tokens: what is fed then gives the logits that a sequence
  // gives which was fed only these. Throws InvalidArgument for more tokens than there are,
  // Unsupported where the sequence cannot go back so far.
  void truncate(int64_t count);
  // The fewest tokens, beside none, that truncate() can leave at this moment.
  int64_t earliest() const;
  // Another sequence with the same tokens, which goes on by itself. What was computed is copied, as
  // far as there is something. Throws Unsupported, LimitExceeded.
  std::unique_ptr<Sequence> fork() const;

  // Writes tokens and cache to a file, of the cache only what is filled where its layout tells;
  // restore() replaces those of this sequence by a file's, after which the logits of the last token
  // are not known: feed one. A file appears complete or not at all. restore() throws InvalidFile
  // for what is no such file, cut off or damaged, Unsupported for another version of the format,
  // InvalidArgument for a sequence of another model or context; the sequence is as it was then.
  void save(const std::filesystem::path& path);
  void restore(const std::filesystem::path& path);

 protected:
  // What is fed: tokens [begin, end) of fed(), and what is wanted of it.
  struct Feeding {
    int64_t begin = 0;
    Rows rows = Rows::Last;
    std::vector<float>* every = nullptr;         // rows of logits
    std::vector<HiddenStates>* trace = nullptr;  // null: not wanted

    // Whether something is wanted after every token.
    bool wants_every() const { return rows == Rows::Every || trace != nullptr; }
  };

  explicit Sequence(std::shared_ptr<Model> model);

  // --- what a family says; the model is the caller's alone meanwhile ---

  // Throws where so many more tokens cannot be fed: by default LimitExceeded at the context's end.
  virtual void check_room(int64_t added) const;
  // Reads fed(), writes each wanted row to next_row() and adds to each of feeding.trace.
  virtual void feed(const Feeding& feeding) = 0;
  // Of the parts that trace() tells of their names and widths.
  virtual std::vector<HiddenStates> parts() const { return {}; }
  // Comes after feed() or Model::feed_together() has thrown: tells how many tokens stay, of which
  // there were `before`.
  virtual int64_t give_up(int64_t before) = 0;
  virtual void forget() = 0;  // back to no tokens
  // As earliest(), for `count` tokens, with the reason why it is not 0.
  struct Earliest {
    int64_t count = 0;
    const char* reason = "";
  };
  virtual Earliest find_earliest() const { return {}; }
  virtual void cut(int64_t /*count*/) {}  // to so many tokens: at least find_earliest()
  // Takes what another sequence of the model has computed; this one has no tokens.
  virtual void copy(const Sequence& other) = 0;
  // The caches, of a sequence that has or will have so many tokens; valid until the next call. None
  // by default.
  virtual std::vector<CacheArray> arrays(int64_t count);
  // What else there is to know of a saved sequence.
  virtual uint32_t marks() const { return 0; }
  virtual void set_marks(uint32_t /*marks*/) {}
  // As likeliest(), where it is not known yet.
  virtual std::optional<int32_t> find_likeliest() { return std::nullopt; }

  const std::vector<int32_t>& fed() const { return tokens_; }
  // Where the next row of wanted logits goes: vocab_size() numbers.
  std::span<float> next_row(const Feeding& feeding);
  std::span<float> next_row() { return row_; }
  std::optional<int32_t> likeliest_;  // forgotten by whatever changes the tokens

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
