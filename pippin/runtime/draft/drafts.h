// Drafts for the texts of one model: the part that all texts share.
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
  int64_t most = 15;                         // per pass
  uint64_t pool_bytes = uint64_t{16} << 20;  // of finished texts; 0: none
  bool lookup = true;                        // in the text and in GenerateOptions::predicted
  bool prediction = true;                    // by the model's own layer, if it has one
  // An additional source for every text, asked first; null: none.
  std::function<std::unique_ptr<Drafter>()> source;
  std::shared_ptr<const DraftModel> model;  // asked if lookups promise less; null: none
  bool always = false;                      // for tests: whether they pay or not
};

// May be used by any thread.
class Drafts {
 public:
  explicit Drafts(const DraftOptions& options = {});
  Drafts(const Drafts&) = delete;
  Drafts& operator=(const Drafts&) = delete;
  ~Drafts();

  // Begins the drafts of a new text.
  std::unique_ptr<Drafting> begin(const Model& model, const GenerateOptions& options);
  // Adds a generated text, in which later texts look up drafts.
  void keep(std::span<const int32_t> text);

 private:
  const DraftOptions options_;
  const std::shared_ptr<RowCost> cost_;
  const std::shared_ptr<LookupPool> pool_;
};

// Null if no drafts are wanted, the model cannot return logits after every token, or its sequences
// cannot drop tokens.
std::unique_ptr<Drafting> begin_drafting(const Model& model, const GenerateOptions& options);
// The most drafts that can be fed after the sequence's next token, if at most `left` more tokens
// are wanted.
int64_t most_drafts(const Sequence& sequence, int64_t left);
// Call it before `count` tokens are fed of which some may be dropped. Returns false if there is no
// memory for a checkpoint: they must not be fed then.
bool prepare_to_drop(Sequence& sequence, int64_t count);
// Drops all but the first `count` tokens, if there are more; also after a cancelled call.
void drop_behind(Sequence& sequence, int64_t count);

}  // namespace pippin::runtime
