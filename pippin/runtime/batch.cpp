#include "pippin/runtime/batch.h"

#include <mutex>
#include <optional>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/runtime/steps_in_flight.h"

namespace pippin::runtime {
namespace {

bool is_choice(Rows rows) {
  return rows == Rows::Token || rows == Rows::Top;
}

}  // namespace

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
  // Continues a run whose sequences are held.
  explicit Use(const Batch& batch, std::adopt_lock_t) noexcept
      : batch_(batch), entered_(batch.items_.size()) {
    batch_.model_->lock_.lock();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    batch_.model_->lock_.unlock();
    leave();
  }
  // Lets the sequences be held until the run is continued.
  void keep_sequences() { entered_ = 0; }

 private:
  void leave() noexcept {
    for (size_t i = 0; i < entered_; ++i) batch_.items_[i].sequence->leave();
  }
  const Batch& batch_;
  size_t entered_ = 0;
};

// A step that was started.
struct Batch::Flight {
  StepsInFlight* model;
  size_t step;
};

Batch::Batch(std::shared_ptr<Model> model) : model_(std::move(model)) {}
Batch::Batch(Batch&&) noexcept = default;

Batch& Batch::operator=(Batch&& other) noexcept {
  clear();
  model_ = std::move(other.model_);
  items_ = std::move(other.items_);
  ids_ = std::move(other.ids_);
  together_ = std::move(other.together_);
  has_run_ = other.has_run_;
  flight_ = std::move(other.flight_);
  return *this;
}

Batch::~Batch() {
  clear();
}

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
  feed(false);
}

void Batch::start() {
  feed(true);
}

void Batch::feed(bool may_return_early) {
  if (has_run_) fail(ErrorCode::InvalidArgument, "the batch has run: clear it for the next step");
  Use use(*this);
  for (const Item& item : items_) {
    item.sequence->check(ids(item));
  }
  together_.clear();
  for (const Item& item : items_) {
    if (item.count == 1 && item.rows != Rows::None) together_.push_back(item.sequence);
  }
  has_run_ = true;
  auto* const steps = may_return_early ? dynamic_cast<StepsInFlight*>(model_.get()) : nullptr;
  std::unique_ptr<Flight> flight;  // before a step is taken
  if (steps != nullptr && steps->most_in_flight() > 1 && !items_.empty() &&
      together_.size() == items_.size()) {
    flight = std::make_unique<Flight>(Flight{steps, 0});
  }
  const bool shares = flight != nullptr || together_.size() > 1;
  if (shares) {
    begin_together();
    with_together([&] {
      if (const auto step = flight != nullptr ? steps->start_step(together_) : std::nullopt) {
        flight->step = *step;
        flight_ = std::move(flight);
        return false;
      }
      model_->feed_together(together_);
      return true;
    });
    if (flight_ != nullptr) return use.keep_sequences();
  }
  for (Item& item : items_) {
    if (shares && item.count == 1 && item.rows != Rows::None) continue;
    Sequence::Feeding feeding{.rows = is_choice(item.rows) ? Rows::Last : item.rows};
    if (item.rows == Rows::Every) feeding.every = &item.every;
    item.sequence->feed_new(ids(item), feeding, is_choice(item.rows) ? item.rows : Rows::Last);
  }
}

void Batch::finish() {
  if (flight_ == nullptr) return;
  const Use use(*this, std::adopt_lock);
  const std::unique_ptr<Flight> flight = std::move(flight_);
  with_together([&] {
    flight->model->finish_step(flight->step, together_);
    return true;
  });
}

void Batch::begin_together() {
  for (Sequence* const one : together_) one->settle();
  for (const Item& item : items_) {
    if (item.count > 1 || item.rows == Rows::None) continue;
    item.sequence->begin(ids(item), is_choice(item.rows) ? item.rows : Rows::Last);
  }
}

// Finishes the sequences if body() returns that their tokens were fed. After an error, drops those
// that were not.
template <typename Body>
void Batch::with_together(const Body& body) {
  try {
    if (!body()) return;
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
  if (is_choice(item.rows)) return item.sequence->row_unless_chosen();
  return item.sequence->row_;
}

void Batch::clear() {
  try {
    finish();
  } catch (...) {  // the sequences tell by their position()
  }
  items_.clear();
  ids_.clear();
  has_run_ = false;
}

}  // namespace pippin::runtime
