#include "pippin/app/logits.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/sequence.h"

namespace pippin::app {
namespace {

std::vector<float> logits_of(runtime::Sequence& sequence, const std::vector<int32_t>& ids,
                             bool steps) {
  if (!steps) return sequence.all_logits(ids);
  std::vector<float> logits;
  for (const int32_t id : ids) {
    check_cancel();
    const std::span<const float> row = sequence.decode(id);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

}  // namespace

int64_t Logits::next_id() const {
  const auto last = values.end() - vocabulary;
  return std::max_element(last, values.end()) - last;
}

Logits compute_logits(const ModelChoice& choice, const TokenInput& tokens, bool steps) {
  if (steps && !tokens.images.empty()) {
    fail(ErrorCode::InvalidArgument,
         "logits token by token: not with images, whose rows are read together");
  }
  auto [model, ids, rows] = open_with_tokens(choice, tokens);
  if (ids.empty()) fail(ErrorCode::InvalidArgument, "no token to give logits for");
  if (model.model->capabilities().greedy_only) {
    fail(ErrorCode::Unsupported,
         "{}: this model chooses its most likely token itself and has no logits to give",
         choice.path);
  }
  const auto start = std::chrono::steady_clock::now();
  Logits logits;
  const auto sequence = model.model->new_sequence();
  for (const auto& run : rows) sequence->provide(run);
  logits.values = logits_of(*sequence, ids, steps);
  logits.seconds = seconds_since(start);
  logits.vocabulary = model.model->vocab_size();
  // Rows of images have ids of their own; users know the one that stands for them.
  for (int32_t& id : ids) {
    if (id < 0) id = model.model->rows()->placeholder;
  }
  logits.ids = std::move(ids);
  return logits;
}

}  // namespace pippin::app
