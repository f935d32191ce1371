#include "pippin/runtime/constrained_sampling.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"

namespace pippin::runtime {

ConstrainedSampling::ConstrainedSampling(std::shared_ptr<constrain::Constraint> constraint,
                                         std::vector<int32_t> end_ids)
    : text_(std::move(constraint)), end_ids_(std::move(end_ids)) {}

void ConstrainedSampling::process(const SamplingContext& /*context*/, Candidates& candidates) {
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
  if (std::ranges::find(end_ids_, id) != end_ids_.end()) return;
  if (!text_.accept(id)) {
    fail(ErrorCode::Internal, "token {} was chosen against the constraint of a text", id);
  }
}

bool ConstrainedSampling::must_end() const {
  return text_.is_complete();
}

std::unique_ptr<LogitsProcessor> ConstrainedSampling::clone() const {
  return std::make_unique<ConstrainedSampling>(*this);
}

}  // namespace pippin::runtime
