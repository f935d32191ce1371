#include "pippin/runtime/token_rules.h"

#include <algorithm>
#include <cmath>

#include "pippin/base/error.h"

namespace pippin::runtime {

void MinTokens::process(const SamplingContext& context, Candidates& candidates) {
  const TokenHistory& history = context.history;
  if (std::ssize(history.tokens()) - static_cast<int64_t>(history.first_generated()) >= count_) {
    return;
  }
  for (const int32_t id : ids_) {
    const size_t place = candidates.find(id);
    if (place < candidates.size()) candidates.set_score(place, -double{INFINITY});
  }
}

std::unique_ptr<LogitsProcessor> MinTokens::clone() const {
  return std::make_unique<MinTokens>(*this);
}

AllowedTokens::AllowedTokens(const std::vector<int32_t>& ids) {
  const int32_t last = ids.empty() ? -1 : *std::max_element(ids.begin(), ids.end());
  auto mask = std::make_shared<constrain::TokenMask>(static_cast<size_t>(last) + 1);
  for (const int32_t id : ids) mask->allow(id);
  mask_ = std::move(mask);
}

void AllowedTokens::process(const SamplingContext& /*context*/, Candidates& candidates) {
  candidates.keep_only(mask_->words());
  if (candidates.size() == 0) {
    fail(ErrorCode::Unsupported, "none of the {} allowed tokens may come next", mask_->count());
  }
}

std::unique_ptr<LogitsProcessor> AllowedTokens::clone() const {
  return std::make_unique<AllowedTokens>(*this);
}

}  // namespace pippin::runtime
