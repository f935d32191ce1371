#include "pippin/runtime/draft/drafting.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "pippin/base/stopwatch.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {
namespace {

constexpr double kRemembered = 32;   // drafts of a level that its rate averages over
constexpr double kLeastGain = 1.05;  // smaller gains count as none
constexpr double kLeastHope = 0.02;  // least probability that a draft is reached
constexpr double kNew = 0.2;         // weight of a new measurement in an estimate
constexpr double kMostTimes = 3;     // a time above this multiple of the estimate is an outlier
constexpr int64_t kFirstProbe = 16, kLastProbe = 256;  // passes between probes

}  // namespace

Drafting::Drafting(std::vector<std::unique_ptr<Drafter>> sources, std::shared_ptr<RowCost> cost,
                   const Limits& limits)
    : cost_(std::move(cost)), limits_(limits) {
  for (auto& source : sources) {
    sources_.emplace_back();
    sources_.back().asking = cost_->asking();
    sources_.back().passes_until_probe = cost_->asking().probe_distance / 2;
    sources_.back().drafter = std::move(source);
  }
}

void Drafting::observe(std::span<const int32_t> ids) {
  for (Source& source : sources_) source.drafter->observe(ids);
}

void Drafting::attach(Sequence& sequence) {
  unfed_ = sequence.unfed();
  for (Source& source : sources_) source.drafter->attach(sequence);
}

double Drafting::rate(const Source& source, int level) const {
  const Drafter::Prior prior = source.drafter->prior(level);
  const Rate& own = source.rates[static_cast<size_t>(level)];
  return (prior.rate * prior.weight + own.accepted) / (prior.weight + own.seen);
}

double Drafting::cost_of(int64_t drafts, double hope, double tokens) const {
  const int64_t rows = unfed_ + drafts + 1;
  double pass = cost_->ratio(rows);
  if (limits_.feeds_again) {
    const auto again = unfed_ + static_cast<int64_t>(std::ceil(tokens));
    const double late = cost_->ratio(rows + again) - pass;
    pass += (1 - hope) * (limits_.feeds_late ? late : cost_->ratio(again));
  }
  return pass / cost_->ratio(unfed_ + 1);
}

// The number of the source's drafts that gives most tokens a second.
Drafting::Plan Drafting::plan(const Source& source) const {
  Plan best;
  double hope = 1, tokens = 1;
  for (size_t i = 0; i < source.drafts.size(); ++i) {
    hope *= rate(source, source.drafts[i].level);
    if (hope < kLeastHope) break;
    tokens += hope;
    const double gain = tokens / cost_of(static_cast<int64_t>(i) + 1, hope, tokens);
    if (gain > best.gain) best = {gain, i + 1};
  }
  return best;
}

std::optional<Draft> Drafting::next(Source& source) const {
  const auto draft = source.drafter->next();
  if (draft && (draft->id < 0 || draft->id >= limits_.vocab_size)) return std::nullopt;
  return draft;
}

Drafting::Plan Drafting::ask(Source& source, int64_t most) {
  while (std::ssize(source.drafts) < most) {
    const auto draft = next(source);
    if (!draft) break;
    source.drafts.push_back(*draft);
  }
  return limits_.always ? Plan{RowCost::kMost, source.drafts.size()} : plan(source);
}

// Asks draft by draft, as long as another draft as good as the last is worth its time.
Drafting::Plan Drafting::ask_costly(Source& source, int64_t most, double least) {
  if (limits_.always) return ask(source, most);
  AskingCost& asking = source.asking;
  if (asking.gain < least && --source.passes_until_probe > 0) return {};
  const double one = cost_->one();
  double hope = 1, tokens = 1, gain = 1;
  const auto gain_of = [&](double expected, double all_right, int64_t drafts) {
    const double each = one > 0 ? asking.seconds / (one * cost_->ratio(unfed_ + 1)) : 0;
    const double pass = cost_of(drafts, all_right, expected);
    return expected / (pass + static_cast<double>(drafts) * each);
  };
  while (std::ssize(source.drafts) < most) {
    const auto start = std::chrono::steady_clock::now();
    const auto draft = next(source);
    if (!draft) break;
    const double seconds = seconds_since(start);
    // The first draft is not timed: the source may have had a whole prompt to read.
    if (!source.drafts.empty() || asking.seconds > 0) {
      const double known = asking.seconds;
      const double counted = known > 0 ? std::min(seconds, kMostTimes * known) : seconds;
      asking.seconds += (known > 0 ? kNew : 1) * (counted - known);
    }
    source.drafts.push_back(*draft);
    const double right = rate(source, draft->level);
    hope *= right;
    tokens += hope;
    const auto count = std::ssize(source.drafts);
    gain = std::max(gain, gain_of(tokens, hope, count));
    if (gain_of(tokens + hope * right, hope * right, count + 1) < gain) break;
  }
  asking.gain += kNew * (gain - asking.gain);
  const bool pays = asking.gain >= kLeastGain;
  asking.probe_distance = pays ? kFirstProbe : std::min(asking.probe_distance * 2, kLastProbe);
  source.passes_until_probe = asking.probe_distance;
  cost_->asked(asking);
  return plan(source);
}

std::span<const int32_t> Drafting::propose(int64_t most) {
  most = std::min({most, limits_.most, RowCost::kMost - 1});
  fed_.clear();
  Source* chosen = nullptr;
  Plan best{.gain = kLeastGain, .count = 0};
  for (Source& source : sources_) source.drafts.clear();
  if (most < 1) return {};
  const auto consider = [&](Source& source, const Plan& plan) {
    if (plan.count == 0 || plan.gain <= best.gain) return;
    best = plan;
    chosen = &source;
  };
  for (Source& source : sources_) {
    if (source.drafter->is_free()) consider(source, ask(source, most));
  }
  for (Source& source : sources_) {
    if (source.drafter->is_free()) continue;
    consider(source, ask_costly(source, most, best.gain));
  }
  if (chosen == nullptr) return {};
  for (size_t i = 0; i < best.count; ++i) fed_.push_back(chosen->drafts[i].id);
  return fed_;
}

void Drafting::count(Source& source, std::span<const int32_t> chosen) const {
  for (size_t i = 0; i < std::min(chosen.size(), source.drafts.size()); ++i) {
    Rate& own = source.rates[static_cast<size_t>(source.drafts[i].level)];
    const bool is_right = source.drafts[i].id == chosen[i];
    if (own.seen >= kRemembered) {
      own.accepted *= 1 - 1 / kRemembered;
      own.seen *= 1 - 1 / kRemembered;
    }
    own.seen += 1;
    own.accepted += is_right ? 1 : 0;
    if (!is_right) return;
  }
}

void Drafting::took(std::span<const int32_t> chosen, double seconds) {
  if (seconds > 0) cost_->measured(unfed_ + std::ssize(fed_) + 1, seconds);
  for (Source& source : sources_) count(source, chosen);
  const auto limit = fed_.begin() + std::min(std::ssize(fed_), std::ssize(chosen));
  num_drafted_ += std::ssize(fed_);
  num_accepted_ += std::mismatch(fed_.begin(), limit, chosen.begin()).first - fed_.begin();
  fed_.clear();
  for (Source& source : sources_) source.drafts.clear();
  observe(chosen);
}

}  // namespace pippin::runtime
