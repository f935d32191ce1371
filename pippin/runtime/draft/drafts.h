// Drafts for the texts of one model: what they share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "pippin/runtime/generator.h"

namespace pippin::runtime {

struct DraftModel;
class Drafter;
class Drafting;
class LookupPool;
class RowCost;

struct DraftOptions {
  int64_t most = 15;                         // of a pass
  uint64_t pool_bytes = uint64_t{16} << 20;  // of texts that are over; 0: none
  bool lookup = true;                        // in the text, and what the caller expects
  // A further source of every text, asked before the others; null: none.
  std::function<std::unique_ptr<Drafter>()> source;
  std::shared_ptr<const DraftModel> model;  // asked where lookups promise less; null: none
  bool always = false;                      // whether they pay or not: for tests
};

// Used by any thread.
class Drafts {
 public:
  explicit Drafts(const DraftOptions& options = {});
  Drafts(const Drafts&) = delete;
  Drafts& operator=(const Drafts&) = delete;
  ~Drafts();

  // Of a new text.
  std::unique_ptr<Drafting> begin(const Model& model, const GenerateOptions& options);
  // A text that was generated, for others to look up.
  void keep(std::span<const int32_t> text);

 private:
  const DraftOptions options_;
  const std::shared_ptr<RowCost> cost_;
  const std::shared_ptr<LookupPool> pool_;
};

// Null without drafts: not asked for, or the model has no logits of every token to compare
// with or its sequences cannot drop tokens.
std::unique_ptr<Drafting> begin_drafting(const Model& model, const GenerateOptions& options);
// How many drafts a sequence can be fed behind its next token, if `left` tokens may still come.
int64_t most_drafts(const Sequence& sequence, int64_t left);
// All but the first `count` tokens, if there are more; also for a call that was cancelled.
void drop_behind(Sequence& sequence, int64_t count);

}  // namespace pippin::runtime
