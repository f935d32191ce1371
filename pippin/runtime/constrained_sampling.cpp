#include "pippin/runtime/constrained_sampling.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/constrain/forced_tokens.h"

namespace pippin::runtime {

namespace {

constexpr size_t kMostCertain = 32;
constexpr size_t kContext = 2;  // tokens before the forced ones, as context for tokenizing them

}  // namespace

ConstrainedSampling::ConstrainedSampling(std::shared_ptr<constrain::Constraint> constraint,
                                         std::vector<int32_t> end_ids,
                                         std::optional<Tokenizer> tokenizer)
    : text_(std::move(constraint)),
      end_ids_(std::move(end_ids)),
      tokenizer_(std::move(tokenizer)) {}

void ConstrainedSampling::process(const SamplingContext& /*context*/, Candidates& candidates) {
  if (!certain().empty()) {
    constrain::TokenMask one(text_.constraint().vocabulary().size());
    one.allow(certain().front());
    candidates.keep_only(one.words());
    return;
  }
  const auto mask = text_.mask();
  if (!text_.can_end() || end_ids_.empty()) {
    candidates.keep_only(mask->words());
  } else {
    constrain::TokenMask with_end = *mask;
    for (const int32_t id : end_ids_) {
      if (static_cast<size_t>(id) < with_end.vocab_size()) with_end.allow(id);
    }
    candidates.keep_only(with_end.words());
  }
  if (candidates.size() == 0) {
    fail(ErrorCode::Unsupported,
         "after {} tokens of a constrained text the vocabulary has no token that may come next",
         text_.size());
  }
}

void ConstrainedSampling::accept(int32_t id, Candidates& /*candidates*/) {
  if (ranges::contains(end_ids_, id)) return;
  if (!text_.accept(id)) {
    fail(ErrorCode::Internal, "token {} was chosen against the constraint of a text", id);
  }
  if (last_.size() == kContext) last_.erase(last_.begin());
  last_.push_back(id);
  if (!certain().empty()) ++num_taken_;
  if (!certain().empty()) return;
  certain_.clear();
  num_taken_ = 0;
  if (!tokenizer_.has_value()) return;
  certain_ =
      constrain::forced_tokens(text_.constraint(), text_.state(), *tokenizer_, last_, kMostCertain);
}

bool ConstrainedSampling::must_end() const {
  return text_.is_complete();
}

std::unique_ptr<LogitsProcessor> ConstrainedSampling::clone() const {
  return std::make_unique<ConstrainedSampling>(*this);
}

}  // namespace pippin::runtime
