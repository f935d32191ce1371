// Drafts by lookup: the tokens that followed an earlier occurrence of the text's longest suffix, in
// the text itself, in the caller's prediction or in other texts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "pippin/runtime/draft/drafter.h"
#include "pippin/runtime/draft/suffix_automaton.h"

namespace pippin::runtime {

// Finished texts that later texts look up drafts in: the latest ones that fit the limit in bytes.
// May be used by any thread.
class LookupPool {
 public:
  explicit LookupPool(uint64_t bytes) : bytes_(bytes) {}

  void add(std::span<const int32_t> text);

  // The position of a growing text in the pool: its longest suffix that occurs there.
  class Cursor {
   public:
    // Returns false, without a match, if another thread holds the pool.
    bool advance(LookupPool& pool, std::span<const int32_t> ids);
    int32_t length() const { return length_; }
    // Copies the tokens after the longest match, at most `most`.
    void copy_next(LookupPool& pool, size_t most, std::vector<int32_t>& to) const;

   private:
    std::array<SuffixAutomaton::Match, 2> matches_;
    std::array<uint64_t, 2> generations_ = {};
    std::vector<int32_t> behind_;  // not yet matched
    int32_t length_ = 0;
    size_t best_ = 0;
  };
  uint64_t bytes() const;

 private:
  // Each half takes half of the bytes. The older one is emptied when the younger one is full.
  struct Half {
    SuffixAutomaton automaton;
    uint64_t generation = 0;
    int32_t separators = 0;
  };
  const uint64_t bytes_;
  mutable std::mutex mutex_;
  std::array<Half, 2> halves_;
  size_t young_ = 0;
  uint64_t generation_ = 0;
};

class LookupDrafter final : public Drafter {
 public:
  // `predicted` is the caller's prediction; `pool` may be null.
  LookupDrafter(std::span<const int32_t> predicted, std::shared_ptr<LookupPool> pool);

  void observe(std::span<const int32_t> ids) override;
  std::optional<Draft> next() override;
  Prior prior(int level) const override;
  bool is_free() const override { return true; }

 private:
  enum class From { Text, Predicted, Pool };
  void choose();

  SuffixAutomaton automaton_;
  SuffixAutomaton::Match match_;
  size_t predicted_ = 0;  // number of predicted tokens, which precede the text in the automaton
  bool is_begun_ = false;
  const std::shared_ptr<LookupPool> pool_;
  LookupPool::Cursor cursor_;
  bool is_chosen_ = false;
  From from_ = From::Text;
  int64_t behind_ = 0;              // position after the match, before the text grew
  size_t place_ = 0;                // position of the next draft
  SuffixAutomaton::Match reached_;  // the match extended by the drafts
  std::vector<int32_t> copied_;
};

}  // namespace pippin::runtime
