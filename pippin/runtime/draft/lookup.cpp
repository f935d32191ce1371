#include "pippin/runtime/draft/lookup.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace pippin::runtime {
namespace {

constexpr size_t kMostCopied = 64;
// Levels by the length of the match: 1, 2, 3 to 4, 5 to 8, more. Each exists three times: one
// continuation after all occurrences, several, and in the pool. The last level is the caller's
// prediction.
constexpr int kLengths = 5, kPredicted = 3 * kLengths;
constexpr std::array<double, kPredicted> kRates = {0.3, 0.5, 0.6,  0.75, 0.9,   // one continuation
                                                   0.1, 0.2, 0.35, 0.5,  0.75,  // several
                                                   0.1, 0.2, 0.35, 0.5,  0.75};

int level_of(int32_t length) {
  return std::min(static_cast<int>(std::bit_width(static_cast<uint32_t>(length - 1))),
                  kLengths - 1);
}

}  // namespace

// --- LookupPool ---

void LookupPool::add(std::span<const int32_t> text) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 0 || halves_[young_].automaton.bytes() > bytes_ / 2) {
      if (halves_[young_].automaton.bytes() > bytes_ / 2) {
        young_ = 1 - young_;
        halves_[young_] = {};
        halves_[young_].generation = ++generation_;
      }
      halves_[young_].automaton.append(--halves_[young_].separators);
    }
    halves_[young_].automaton.append(text[i]);
  }
}

uint64_t LookupPool::bytes() const {
  const std::lock_guard lock(mutex_);
  return halves_[0].automaton.bytes() + halves_[1].automaton.bytes();
}

bool LookupPool::Cursor::advance(LookupPool& pool, std::span<const int32_t> ids) {
  behind_.insert(behind_.end(), ids.begin(), ids.end());
  const std::unique_lock lock(pool.mutex_, std::try_to_lock);
  length_ = 0;
  if (!lock.owns_lock()) return false;
  for (size_t half = 0; half < matches_.size(); ++half) {
    const Half& own = pool.halves_[half];
    if (generations_[half] != own.generation) matches_[half] = {};
    generations_[half] = own.generation;
    for (const int32_t id : behind_) {
      matches_[half] = own.automaton.advance(matches_[half], id);
    }
    if (matches_[half].length <= length_) continue;
    length_ = matches_[half].length;
    best_ = half;
  }
  behind_.clear();
  return true;
}

void LookupPool::Cursor::copy_next(LookupPool& pool, size_t most, std::vector<int32_t>& to) const {
  to.clear();
  const std::unique_lock lock(pool.mutex_, std::try_to_lock);
  if (!lock.owns_lock() || length_ == 0) return;
  const Half& own = pool.halves_[best_];
  if (own.generation != generations_[best_]) return;
  const auto text = own.automaton.text();
  for (auto at = static_cast<size_t>(own.automaton.end(matches_[best_]));
       at < text.size() && to.size() < most && text[at] >= 0; ++at) {
    to.push_back(text[at]);
  }
}

// --- LookupDrafter ---

LookupDrafter::LookupDrafter(std::span<const int32_t> predicted, std::shared_ptr<LookupPool> pool)
    : predicted_(predicted.size()), pool_(std::move(pool)) {
  for (const int32_t id : predicted) automaton_.append(std::max(id, 0));  // negative ids separate
  if (!predicted.empty()) automaton_.append(-1);
}

void LookupDrafter::observe(std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    match_ = automaton_.advance(match_, id);
    behind_ = automaton_.end(match_);
    automaton_.append(id);
  }
  if (pool_ != nullptr) cursor_.advance(*pool_, ids);
  is_chosen_ = false;
}

void LookupDrafter::choose() {
  is_chosen_ = true;
  from_ = From::Text;
  place_ = static_cast<size_t>(behind_);
  reached_ = match_;
  // The first tokens after the prompt.
  if (!is_begun_ && predicted_ > 0) {
    from_ = From::Predicted;
    place_ = 0;
  } else if (pool_ != nullptr && cursor_.length() > reached_.length) {
    cursor_.copy_next(*pool_, kMostCopied, copied_);
    if (!copied_.empty()) {
      from_ = From::Pool;
      place_ = 0;
      reached_.length = cursor_.length();
    }
  }
  is_begun_ = true;
}

std::optional<Draft> LookupDrafter::next() {
  if (!is_chosen_) choose();
  const auto text = from_ == From::Pool ? std::span<const int32_t>(copied_) : automaton_.text();
  if (place_ >= text.size() || text[place_] < 0) return std::nullopt;
  const int32_t id = text[place_++];
  if (from_ == From::Predicted) return Draft{id, kPredicted};
  if (reached_.length == 0) return std::nullopt;
  int level = level_of(reached_.length);
  if (from_ == From::Pool) {
    level += 2 * kLengths;
    ++reached_.length;
  } else {
    level += automaton_.has_one_continuation(reached_) ? 0 : kLengths;
    reached_ = automaton_.advance(reached_, id);
  }
  return Draft{id, level};
}

Drafter::Prior LookupDrafter::prior(int level) const {
  if (level >= kPredicted) return {0.8, 4};
  return {kRates[static_cast<size_t>(level)], 4};
}

}  // namespace pippin::runtime
