#include "pippin/runtime/batch.h"

#include "pippin/base/error.h"

namespace pippin::runtime {

// Holds all sequences of a batch, and their model, for one run.
class Batch::Use {
 public:
  explicit Use(const Batch& batch) : batch_(batch) {
    try {
      for (; entered_ < batch_.items_.size(); ++entered_) {
        batch_.items_[entered_].sequence->enter();
      }
      batch_.model_->lock_.lock_unless_cancelled();
    } catch (...) {
      leave();
      throw;
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    batch_.model_->lock_.unlock();
    leave();
  }

 private:
  void leave() noexcept {
    for (size_t i = 0; i < entered_; ++i) batch_.items_[i].sequence->leave();
  }
  const Batch& batch_;
  size_t entered_ = 0;
};

Batch::Batch(std::shared_ptr<Model> model) : model_(std::move(model)) {}

size_t Batch::add(Sequence& sequence, std::span<const int32_t> ids, Rows rows) {
  if (has_run_) fail(ErrorCode::InvalidArgument, "the batch has run: clear it for the next step");
  if (&sequence.model() != model_.get()) {
    fail(ErrorCode::InvalidArgument, "sequence {} of the batch is another model's", items_.size());
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].sequence == &sequence) {
      fail(ErrorCode::InvalidArgument, "sequences {} and {} of the batch are one and the same", i,
           items_.size());
    }
  }
  check_fed_ids(*model_, ids);
  if (rows == Rows::Every && ids.size() > 1 && model_->capabilities().greedy_only) {
    fail(ErrorCode::Unsupported,
         "this model chooses its most likely token itself and has no logits to give");
  }
  items_.push_back({&sequence, ids_.size(), ids.size(), rows, {}});
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  return items_.size() - 1;
}

std::span<const int32_t> Batch::ids(const Item& item) const {
  return std::span(ids_).subspan(item.first, item.count);
}

void Batch::run() {
  if (has_run_) fail(ErrorCode::InvalidArgument, "the batch has run: clear it for the next step");
  const Use use(*this);
  for (const Item& item : items_) {
    item.sequence->check(ids(item));
  }
  together_.clear();
  for (const Item& item : items_) {
    if (item.count == 1 && item.rows != Rows::None) together_.push_back(item.sequence);
  }
  has_run_ = true;
  if (together_.size() > 1) feed_together();
  for (Item& item : items_) {
    if (together_.size() > 1 && item.count == 1 && item.rows != Rows::None) continue;
    const bool token = item.rows == Rows::Token;
    Sequence::Feeding feeding{.rows = token ? Rows::Last : item.rows};
    if (item.rows == Rows::Every) feeding.every = &item.every;
    item.sequence->feed_new(ids(item), feeding, token);
  }
}

void Batch::feed_together() {
  for (const Item& item : items_) {
    if (item.count > 1 || item.rows == Rows::None) continue;
    item.sequence->begin(ids(item), item.rows == Rows::Token);
  }
  try {
    model_->feed_together(together_);
  } catch (...) {
    for (Sequence* const one : together_) {
      if (one->position() < std::ssize(one->tokens_)) one->keep(one->give_up(one->position()));
    }
    throw;
  }
  for (Sequence* const one : together_) one->finish();
}

std::span<const float> Batch::logits(size_t index) const {
  const Item& item = items_.at(index);
  if (!has_run_ || item.rows == Rows::None) return {};
  if (item.rows == Rows::Every && item.count > 1) return item.every;
  if (item.rows == Rows::Token) return item.sequence->row_or_token();
  return item.sequence->row_;
}

void Batch::clear() {
  items_.clear();
  ids_.clear();
  has_run_ = false;
}

}  // namespace pippin::runtime
