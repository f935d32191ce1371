#include "pippin/runtime/draft/draft_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <unordered_map>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/draft/probability_levels.h"

namespace pippin::runtime {
namespace {

// Of a long text the draft model reads only the end: earlier tokens would improve its drafts less
// than reading them costs.
constexpr int64_t kMostRead = 1024;

// The token's identity without its id. Empty for tokens that add no text.
std::string key_of(const Tokenizer& tokenizer, int32_t id) {
  if (tokenizer.is_special(id)) return "<" + tokenizer.id_to_token(id).value_or("");
  const std::string bytes = tokenizer.token_bytes(id);
  return bytes.empty() ? bytes : "=" + bytes;
}

}  // namespace

TokenMap::TokenMap(int64_t vocab_size)
    : to_draft_(static_cast<size_t>(vocab_size)), common_(vocab_size) {
  std::iota(to_draft_.begin(), to_draft_.end(), 0);
  to_target_ = to_draft_;
}

TokenMap::TokenMap(const Tokenizer& target, const Tokenizer& draft)
    : to_draft_(static_cast<size_t>(target.vocab_size()), -1),
      to_target_(static_cast<size_t>(draft.vocab_size()), -1) {
  std::unordered_map<std::string, int32_t> known;
  for (int32_t id = 0; id < draft.vocab_size(); ++id) known.emplace(key_of(draft, id), id);
  known.erase("");
  for (int32_t id = 0; id < target.vocab_size(); ++id) {
    const auto found = known.find(key_of(target, id));
    if (found == known.end()) continue;
    to_draft_[static_cast<size_t>(id)] = found->second;
    int32_t& back = to_target_[static_cast<size_t>(found->second)];
    if (back >= 0) continue;  // keeps the first of several ids with one text
    back = id;
    ++common_;
  }
}

DraftModel::DraftModel(std::shared_ptr<Model> own, const Tokenizer& target, const Tokenizer& draft)
    : model(std::move(own)), map(target, draft) {
  const int64_t smaller = std::min(target.vocab_size(), draft.vocab_size());
  if (map.common() * 2 >= smaller) return;
  fail(ErrorCode::InvalidArgument,
       "it has {} tokens in common with the model, of {} and {}: a draft model needs half of the "
       "smaller vocabulary",
       map.common(), draft.vocab_size(), target.vocab_size());
}

DraftModel::DraftModel(std::shared_ptr<Model> own, const Model& target)
    : model(std::move(own)), map(target.vocab_size()) {
  if (model->vocab_size() == target.vocab_size()) return;
  fail(ErrorCode::InvalidArgument,
       "it has {} tokens, the model {}: without tokenizers nothing tells "
       "which are the same",
       model->vocab_size(), target.vocab_size());
}

void ModelDrafter::observe(std::span<const int32_t> ids) {
  tokens_.resize(tokens_.size() - drafts_);
  drafts_ = 0;
  is_lost_ = false;
  for (const int32_t id : ids) {
    const int32_t own = own_->map.to_draft(id);
    if (own < 0 || own >= own_->model->vocab_size()) continue;
    const auto at = std::ssize(tokens_);
    if (at < same_ && sequence_->tokens()[static_cast<size_t>(at)] != own) same_ = at;
    tokens_.push_back(own);
  }
}

std::optional<Draft> ModelDrafter::next() {
  if (has_failed_ || is_lost_ || tokens_.empty()) return std::nullopt;
  try {
    const Draft result = draft();
    is_lost_ = result.id < 0;
    return is_lost_ ? std::nullopt : std::optional(result);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) throw;
    log_warn("no drafts of the draft model any more: {}", error.what());
    has_failed_ = true;
    return std::nullopt;
  }
}

// Makes the sequence a prefix of tokens_ with room for one more token.
void ModelDrafter::make_room() {
  Model& model = *own_->model;
  if (sequence_ == nullptr) sequence_ = model.new_sequence();
  const int64_t most = std::min(kMostRead, model.context() / 2);
  const bool is_full = std::ssize(tokens_) > model.context();
  if (std::ssize(tokens_) - same_ > most || is_full) {
    tokens_.erase(tokens_.begin(), tokens_.end() - std::min(most, std::ssize(tokens_)));
    same_ = 0;
  }
  same_ = std::min({same_, std::ssize(tokens_) - 1, sequence_->position()});
  if (same_ == sequence_->position()) return;
  const Capabilities& can = model.capabilities();
  const bool goes_back = can.truncate || can.checkpoint;
  if (same_ > 0 && goes_back && same_ >= sequence_->earliest()) {
    sequence_->truncate(same_);
  } else {
    sequence_->reset();
    same_ = 0;
  }
}

Draft ModelDrafter::draft() {
  make_room();
  const auto fresh = std::span(tokens_).subspan(static_cast<size_t>(same_));
  const auto logits = sequence_->prefill(fresh);
  same_ = sequence_->position();
  const auto best = std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float logit : logits) total += std::exp(double{logit} - double{*best});
  const auto own = static_cast<int32_t>(best - logits.begin());
  // So far these are tokens of the text; drafts follow.
  if (drafts_ == 0) prepare_to_drop(*sequence_, kMostRead);
  tokens_.push_back(own);
  ++drafts_;
  return {own_->map.to_target(own), probability_level(1 / total)};
}

Drafter::Prior ModelDrafter::prior(int level) const {
  return probability_prior(level);
}

}  // namespace pippin::runtime
