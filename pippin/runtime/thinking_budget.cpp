#include "pippin/runtime/thinking_budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pippin/base/text.h"

namespace pippin::runtime {
namespace {

constexpr size_t kMostBytes = 256;  // marks are shorter

}  // namespace

ThinkingBudget::ThinkingBudget(ThinkingMark begin, ThinkingMark end, int64_t tokens,
                               bool is_thinking, const Tokenizer& tokenizer)
    : begin_(std::move(begin)),
      end_(std::move(end)),
      tokenizer_(tokenizer),
      end_ids_(end_.ids.empty() ? tokenizer.encode(end_.text, false) : end_.ids),
      left_(std::max<int64_t>(tokens, 0)),
      is_thinking_(is_thinking) {
  if (is_thinking_ && left_ == 0) force_end();
}

void ThinkingBudget::force_end() {
  forced_ = end_ids_;
  num_taken_ = 0;
}

bool ThinkingBudget::has_come() const {
  const ThinkingMark& mark = is_thinking_ ? end_ : begin_;
  if (!mark.ids.empty()) {
    return mark.ids.size() <= ids_.size() &&
           std::equal(mark.ids.rbegin(), mark.ids.rend(), ids_.rbegin());
  }
  if (mark.text.empty() || (!is_thinking_ && !may_begin_)) return false;
  return text_.find(mark.text) != std::string::npos;
}

void ThinkingBudget::process(const SamplingContext& /*context*/, Candidates& candidates) {
  if (certain().empty()) return;
  const size_t place = candidates.find(certain().front());
  // A link before this one forbids the mark, so it cannot be forced.
  if (place == candidates.size() || !std::isfinite(candidates.items()[place].score)) return;
  candidates.keep_if([&](size_t i) { return i == place; });
}

void ThinkingBudget::accept(int32_t id, Candidates& /*candidates*/) {
  ids_.push_back(id);
  if (ids_.size() > kMostBytes) ids_.pop_front();
  text_ += tokenizer_.token_bytes(id);
  if (text_.size() > 2 * kMostBytes) text_.erase(0, text_.size() - kMostBytes);
  if (!certain().empty()) {
    if (id == certain().front()) {
      ++num_taken_;
    } else {
      forced_.clear();  // the mark was forbidden
      num_taken_ = 0;
    }
  }
  if (!is_thinking_) {
    const size_t begin = std::min(text_.find_first_not_of(" \t\r\n"), text_.size());
    const std::string_view said = std::string_view(text_).substr(begin);
    may_begin_ = may_begin_ && (begin_.text.starts_with(said) || said.starts_with(begin_.text));
  }
  if (has_come()) {
    is_thinking_ = !is_thinking_;
    may_begin_ = false;
    ids_.clear();
    text_.clear();
    forced_.clear();
    num_taken_ = 0;
    if (is_thinking_ && left_ == 0) force_end();
    return;
  }
  if (!is_thinking_ || !certain().empty()) return;
  left_ = std::max<int64_t>(left_ - 1, 0);
  // Never inserts the mark inside a character.
  if (left_ == 0 && complete_utf8_prefix(text_) == text_.size()) force_end();
}

std::unique_ptr<LogitsProcessor> ThinkingBudget::clone() const {
  return std::make_unique<ThinkingBudget>(*this);
}

}  // namespace pippin::runtime
