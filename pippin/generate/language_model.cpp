#include "pippin/generate/language_model.h"

#include "pippin/base/error.h"

namespace pippin::generate {

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
