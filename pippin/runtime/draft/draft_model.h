// Drafts of a smaller model, which writes ahead what it finds most likely.
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

// Which tokens of two vocabularies are the same: by what they add to a text, special ones by their
// names.
class TokenMap {
 public:
  // Every token is the same.
  explicit TokenMap(int64_t vocab_size);
  TokenMap(const Tokenizer& target, const Tokenizer& draft);

  // -1: there is none.
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
  // Throws InvalidArgument where the vocabularies have less than half of the smaller one's tokens
  // in common.
  DraftModel(std::shared_ptr<Model> model, const Tokenizer& target, const Tokenizer& draft);
  // Without tokenizers: throws InvalidArgument unless the models have as many tokens.
  DraftModel(std::shared_ptr<Model> model, const Model& target);

  std::shared_ptr<Model> model;
  TokenMap map;
};

// Tokens that the draft model does not have are left out of what it reads.
class ModelDrafter final : public Drafter {
 public:
  explicit ModelDrafter(std::shared_ptr<const DraftModel> model) : own_(std::move(model)) {}

  void observe(std::span<const int32_t> ids) override;
  // Throws Cancelled. A draft model that fails has no drafts any more.
  std::optional<Draft> next() override;
  Prior prior(int level) const override;
  bool is_free() const override { return false; }

 private:
  Draft draft();
  void make_room();

  const std::shared_ptr<const DraftModel> own_;
  std::unique_ptr<Sequence> sequence_;  // made when the first draft is asked for
  // In its own vocabulary: the end of the text, and the drafts behind it.
  std::vector<int32_t> tokens_;
  size_t drafts_ = 0;
  int64_t same_ = 0;  // of its sequence's tokens, those that are the first of tokens_
  bool has_failed_ = false, is_lost_ = false;
};

}  // namespace pippin::runtime
