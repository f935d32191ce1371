#include "pippin/generate/language_model.h"

#include "pippin/base/error.h"

namespace pippin::generate {

void LanguageModel::decode_group(std::span<const NextToken> next,
                                 std::vector<std::span<const float>>& logits) {
  for (const NextToken& one : next) logits.push_back(one.sequence->decode(one.id));
}

std::vector<std::span<const float>> decode_together(std::span<const NextToken> next) {
  for (size_t i = 0; i < next.size(); ++i) {
    check_ids(*next[i].sequence, {&next[i].id, 1});
    for (size_t k = 0; k < i; ++k) {
      if (next[k].sequence == next[i].sequence) {
        fail(ErrorCode::InvalidArgument, "sequences {} and {} are one and the same", k, i);
      }
    }
  }
  std::vector<std::span<const float>> result(next.size());
  std::vector<bool> done(next.size(), false);
  std::vector<NextToken> group;
  std::vector<size_t> places;
  std::vector<std::span<const float>> rows;
  for (size_t first = 0; first < next.size(); ++first) {
    if (done[first]) continue;
    group.clear();
    places.clear();
    rows.clear();
    for (size_t i = first; i < next.size(); ++i) {
      if (done[i] || next[i].sequence->shared() != next[first].sequence->shared()) continue;
      done[i] = true;
      group.push_back(next[i]);
      places.push_back(i);
    }
    next[first].sequence->decode_group(group, rows);
    for (size_t i = 0; i < places.size(); ++i) result[places[i]] = rows.at(i);
  }
  return result;
}

void check_vocabulary(const LanguageModel& model, std::span<const int32_t> ids) {
  if (ids.empty()) fail(ErrorCode::InvalidArgument, "there are no tokens to feed to the model");
  for (const int32_t id : ids) {
    if (id < 0 || id >= model.vocab_size()) {
      fail(ErrorCode::InvalidArgument, "token id {} is not in the model's vocabulary of {}", id,
           model.vocab_size());
    }
  }
}

void check_ids(const LanguageModel& model, std::span<const int32_t> ids) {
  check_vocabulary(model, ids);
  const auto count = static_cast<int64_t>(ids.size());
  if (!model.slides() && count > model.context() - model.position()) {
    fail(ErrorCode::LimitExceeded,
         "the sequence would have {} tokens, the model's context holds {}",
         model.position() + count, model.context());
  }
}

}  // namespace pippin::generate
