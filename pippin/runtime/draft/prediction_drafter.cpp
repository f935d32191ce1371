#include "pippin/runtime/draft/prediction_drafter.h"

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/runtime/draft/probability_levels.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

void PredictionDrafter::observe(std::span<const int32_t> ids) {
  if (!ids.empty()) {
    ids_.assign(1, ids.back());
  } else if (!ids_.empty()) {
    ids_.resize(1);
  }
}

std::optional<Draft> PredictionDrafter::next() try {
  if (has_failed_ || sequence_ == nullptr || ids_.empty()) return std::nullopt;
  const auto predicted = sequence_->predict(ids_);
  if (!predicted) return std::nullopt;
  ids_.push_back(predicted->id);
  return Draft{predicted->id, probability_level(predicted->probability)};
} catch (const Error& error) {
  if (error.code() == ErrorCode::Cancelled) throw;
  log_warn("no drafts of the prediction layer any more: {}", error.what());
  has_failed_ = true;
  return std::nullopt;
}

Drafter::Prior PredictionDrafter::prior(int level) const {
  return probability_prior(level);
}

}  // namespace pippin::runtime
