// Drafts from a smaller model, which decodes greedily ahead.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pippin/runtime/draft/drafter.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/sequence.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

// Maps equal tokens of two vocabularies to each other: by the text that they add, special tokens by
// name.
class TokenMap {
 public:
  // The identity map.
  explicit TokenMap(int64_t vocab_size);
  TokenMap(const Tokenizer& target, const Tokenizer& draft);

  // -1 if none exists.
  int32_t to_draft(int32_t target) const { return find(to_draft_, target); }
  int32_t to_target(int32_t draft) const { return find(to_target_, draft); }
  int64_t common() const { return common_; }

 private:
  static int32_t find(const std::vector<int32_t>& map, int32_t id) {
    return id >= 0 && id < std::ssize(map) ? map[static_cast<size_t>(id)] : -1;
  }
  std::vector<int32_t> to_draft_, to_target_;
  int64_t common_ = 0;
};

// Shared by all texts.
struct DraftModel {
  // Throws InvalidArgument if the vocabularies share less than half of the smaller one's tokens.
  DraftModel(std::shared_ptr<Model> model, const Tokenizer& target, const Tokenizer& draft);
  // Without tokenizers. Throws InvalidArgument unless both models have the same number of tokens.
  DraftModel(std::shared_ptr<Model> model, const Model& target);

  std::shared_ptr<Model> model;
  TokenMap map;
};

// Tokens that the draft model does not have are skipped.
class ModelDrafter final : public Drafter {
 public:
  explicit ModelDrafter(std::shared_ptr<const DraftModel> model) : own_(std::move(model)) {}

  void observe(std::span<const int32_t> ids) override;
  // Throws Cancelled. After another error of the draft model there are no more drafts.
  std::optional<Draft> next() override;
  Prior prior(int level) const override;
  bool is_free() const override { return false; }

 private:
  Draft draft();
  void make_room();

  const std::shared_ptr<const DraftModel> own_;
  std::unique_ptr<Sequence> sequence_;  // created with the first draft
  // In the draft model's vocabulary: the end of the text, followed by the drafts.
  std::vector<int32_t> tokens_;
  size_t drafts_ = 0;
  int64_t same_ = 0;  // of the sequence's tokens, the number that equal the first of tokens_
  bool has_failed_ = false, is_lost_ = false;
};

}  // namespace pippin::runtime
