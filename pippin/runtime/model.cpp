#include "pippin/runtime/model.h"

#include <algorithm>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/io/digest.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

void Model::tell(const Facts& facts) {
  facts_ = facts;
  facts_.num_ids = std::max(facts_.num_ids, facts_.vocab_size);
  if (facts_.tokens_after_shift == 0) facts_.tokens_after_shift = (facts_.context + 1) / 2;
}

uint64_t Model::saved_bytes() const {
  const std::lock_guard lock(lock_);
  return count_saved_bytes();
}

const std::string& Model::digest() {
  lock_.lock_unless_cancelled();
  const std::lock_guard lock(lock_, std::adopt_lock);
  if (digest_.empty()) {
    Digest digest = Digest::sha256();
    add_to(digest);
    digest_ = digest.finish();
  }
  return digest_;
}

std::unique_ptr<Sequence> Model::new_sequence() {
  lock_.lock_unless_cancelled();
  const std::lock_guard lock(lock_, std::adopt_lock);
  return make_sequence();
}

void Model::feed_together(std::span<Sequence* const> sequences) {
  for (Sequence* const sequence : sequences) sequence->feed_last();
}

namespace {

void check_below(int64_t limit, std::span<const int32_t> ids) {
  if (ids.empty()) fail(ErrorCode::InvalidArgument, "no tokens to feed to the model");
  for (const int32_t id : ids) {
    if (id >= 0 && id < limit) continue;
    fail(ErrorCode::InvalidArgument, "token id {} is not in the model's vocabulary of {}", id,
         limit);
  }
}

}  // namespace

void check_ids(const Model& model, std::span<const int32_t> ids) {
  check_below(model.num_ids(), ids);
}

void check_fed_ids(const Model& model, std::span<const int32_t> ids) {
  if (!model.rows() || ids.empty()) return check_ids(model, ids);
  for (const int32_t& id : ids) {
    if (id >= 0) check_ids(model, {&id, 1});
  }
}

void check_adapters(const Model& model, std::span<const float> numbers) {
  const auto& adapters = model.adapters();
  if (numbers.size() != adapters.size()) {
    fail(ErrorCode::InvalidArgument, "{} numbers for adapters, the model has {} adapters",
         numbers.size(), adapters.size());
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (std::isfinite(numbers[i])) continue;
    fail(ErrorCode::InvalidArgument, "the scale of adapter '{}' is {}, a finite number is expected",
         adapters[i].name, numbers[i]);
  }
}

void check_vocabulary(const Model& model, std::span<const int32_t> ids) {
  check_below(model.vocab_size(), ids);
}

}  // namespace pippin::runtime
