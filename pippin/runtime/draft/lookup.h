// Drafts that are looked up: what came after the longest end of the text that occurred before, in
// the text itself, in what the caller expects to come, or in other texts.
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

// Texts that are over, for those that come: the latest ones, in as many bytes as it may take. Used
// by any thread.
class LookupPool {
 public:
  explicit LookupPool(uint64_t bytes) : bytes_(bytes) {}

  void add(std::span<const int32_t> text);

  // A text on its way that is compared with those of the pool.
  class Cursor {
   public:
    // False where another thread is at the pool: then nothing is found this time.
    bool advance(LookupPool& pool, std::span<const int32_t> ids);
    int32_t length() const { return length_; }
    // What came after the longest match, at most `most` tokens.
    void copy_next(LookupPool& pool, size_t most, std::vector<int32_t>& to) const;

   private:
    std::array<SuffixAutomaton::Match, 2> matches_;
    std::array<uint64_t, 2> generations_ = {};
    std::vector<int32_t> behind_;  // not compared yet
    int32_t length_ = 0;
    size_t best_ = 0;
  };
  uint64_t bytes() const;

 private:
  // Half of the bytes each; the older half goes when the younger one is full.
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
  // `predicted` is what the caller expects; `pool` may be null.
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
  size_t predicted_ = 0;  // so many tokens of what is expected, in front of the text
  bool is_begun_ = false;
  const std::shared_ptr<LookupPool> pool_;
  LookupPool::Cursor cursor_;
  bool is_chosen_ = false;
  From from_ = From::Text;
  int64_t behind_ = 0;              // the place behind the match in the text, before it grew
  size_t place_ = 0;                // of the next draft
  SuffixAutomaton::Match reached_;  // the match with the drafts
  std::vector<int32_t> copied_;
};

}  // namespace pippin::runtime
