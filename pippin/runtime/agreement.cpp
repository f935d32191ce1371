#include "pippin/runtime/agreement.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/row_agreement.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {
namespace {

using Row = std::span<const float>;

using ImageRows = std::vector<std::shared_ptr<const EmbeddedRows>>;

// Forgets all tokens; those that are fed next have these rows.
void begin_with(Sequence& model, const ImageRows& rows) {
  model.reset();
  for (const auto& run : rows) model.provide(run);
}

std::vector<int64_t> continue_greedily(Sequence& model, std::span<const int32_t> prompt,
                                       int64_t count, const ImageRows& rows) {
  begin_with(model, rows);
  std::vector<int64_t> ids;
  Row logits = model.prefill(prompt);
  while (static_cast<int64_t>(ids.size()) < count) {
    check_cancel();
    ids.push_back(argmax(logits));
    if (static_cast<int64_t>(ids.size()) < count) {
      logits = model.decode(static_cast<int32_t>(ids.back()));
    }
  }
  return ids;
}

// The largest difference between two rows, relative to the largest logit of the first.
double row_difference(Row row, Row other) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(row[i])));
    difference =
        std::max(difference, std::abs(static_cast<double>(row[i]) - static_cast<double>(other[i])));
  }
  return largest > 0 ? difference / largest : difference;
}

// The rows after each token, fed one by one.
std::vector<float> step_by_step(Sequence& model, std::span<const int32_t> ids) {
  model.reset();
  std::vector<float> rows;
  for (const int32_t id : ids) {
    check_cancel();
    const Row row = model.decode(id);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

struct StepDifferences {
  double all_at_once = 0, prefill = 0;
};

StepDifferences differences_of_steps(Sequence& model, std::span<const int32_t> ids) {
  const auto vocabulary = static_cast<size_t>(model.model().vocab_size());
  const std::vector<float> steps = step_by_step(model, ids);
  const auto step = [&](size_t token) {
    return Row(steps).subspan(token * vocabulary, vocabulary);
  };
  StepDifferences result;
  model.reset();
  const std::vector<float> together = model.all_logits(ids);
  for (size_t t = 0; t < ids.size(); ++t) {
    const Row row = Row(together).subspan(t * vocabulary, vocabulary);
    result.all_at_once = std::max(result.all_at_once, row_difference(row, step(t)));
  }
  for (size_t length = ids.size(); length > 1; length /= 2) {
    model.reset();
    const Row last = model.prefill(ids.first(length - 1));
    result.prefill = std::max(result.prefill, row_difference(step(length - 2), last));
    const Row next = model.decode(ids[length - 1]);
    result.prefill = std::max(result.prefill, row_difference(step(length - 1), next));
  }
  return result;
}

double relative_difference(const HiddenStates& mine, const HiddenStates& theirs) {
  RelativeDifference difference;
  difference.add(mine.rows, theirs.rows);
  return difference.value();
}

// Compares each part with the closest part of the source, in order. A chunk may hold any number of
// layers.
std::vector<PartAgreement> compare_parts(Sequence& model, Sequence& source,
                                         std::span<const int32_t> ids) {
  model.reset();
  const auto mine = model.trace(ids);
  source.reset();
  const auto theirs = source.trace(ids);
  std::vector<PartAgreement> result;
  size_t from = 0;
  for (const HiddenStates& part : mine) {
    std::optional<PartAgreement> best;
    size_t place = from;
    for (size_t i = from; i < theirs.size(); ++i) {
      if (theirs[i].width != part.width || theirs[i].rows.size() != part.rows.size()) continue;
      const double difference = relative_difference(part, theirs[i]);
      if (best && !(difference < best->difference)) continue;
      best = {part.name, theirs[i].name, difference};
      place = i;
    }
    if (!best) continue;
    result.push_back(*best);
    from = place;
  }
  return result;
}

// Models with their sequences, and what they differ by on a text.
struct Compared {
  Sequence &mine, &theirs;
  RowAgreement rows = {};
  int64_t next_tokens = 0;
  double log_likelihood = 0, source_log_likelihood = 0;

  // Adds a window, whose sequences have begun.
  void add(std::span<const int32_t> part, size_t begin) {
    const auto vocabulary = static_cast<size_t>(mine.model().vocab_size());
    const std::vector<float> logits = mine.all_logits(part);
    const std::vector<float> wanted = theirs.all_logits(part);
    for (size_t t = 0; t < part.size(); ++t) {
      const auto position = static_cast<int64_t>(begin + t);
      const Row row(logits.data() + t * vocabulary, vocabulary);
      const Row source_row(wanted.data() + t * vocabulary, vocabulary);
      const auto [norm, source_norm] = rows.add(row, source_row, position);
      if (t + 1 == part.size() || part[t + 1] < 0) continue;
      const auto next = static_cast<size_t>(part[t + 1]);
      log_likelihood += static_cast<double>(row[next]) - norm;
      source_log_likelihood += static_cast<double>(source_row[next]) - source_norm;
      ++next_tokens;
    }
  }

  AgreementSums sums() const {
    return {rows.rows(),   next_tokens,    rows.same(),          rows.sum_kl(),
            rows.max_kl(), log_likelihood, source_log_likelihood};
  }
};

void check_vocabularies(const Model& model, const Model& source) {
  if (model.vocab_size() == source.vocab_size()) return;
  fail(ErrorCode::InvalidArgument, "the model has a vocabulary of {} tokens, its source {}",
       model.vocab_size(), source.vocab_size());
}

}  // namespace

void AgreementSums::add(const AgreementSums& other) {
  tokens += other.tokens;
  next_tokens += other.next_tokens;
  same += other.same;
  kl += other.kl;
  max_kl = std::max(max_kl, other.max_kl);
  log_likelihood += other.log_likelihood;
  source_log_likelihood += other.source_log_likelihood;
}

Agreement AgreementSums::agreement() const {
  Agreement result;
  result.tokens = tokens;
  result.next_tokens = next_tokens;
  result.max_kl = max_kl;
  if (tokens > 0) {
    result.mean_kl = kl / static_cast<double>(tokens);
    result.top1 = static_cast<double>(same) / static_cast<double>(tokens);
  }
  if (next_tokens > 0) {
    result.perplexity = std::exp(-log_likelihood / static_cast<double>(next_tokens));
    result.source_perplexity = std::exp(-source_log_likelihood / static_cast<double>(next_tokens));
  }
  return result;
}

AgreementSums compare_logits(Model& model, Model& source, std::span<const int32_t> ids,
                             int64_t window) {
  check_vocabularies(model, source);
  if (ids.empty()) return {};
  check_vocabulary(source, ids);
  const auto mine = model.new_sequence(), theirs = source.new_sequence();
  const int64_t context = std::min(model.context(), source.context());
  const auto most = static_cast<size_t>(std::clamp<int64_t>(window, 1, context));
  Compared compared{*mine, *theirs};
  for (size_t begin = 0; begin < ids.size(); begin += most) {
    mine->reset();
    theirs->reset();
    compared.add(ids.subspan(begin, std::min(most, ids.size() - begin)), begin);
  }
  return compared.sums();
}

Agreement compare_models(Model& model, Model& source, std::span<const int32_t> ids,
                         const AgreementOptions& options) {
  if (ids.empty()) fail(ErrorCode::InvalidArgument, "no token to compare models on");
  check_vocabularies(model, source);
  const bool has_images = !options.rows.empty();
  std::vector<int32_t> words(ids.begin(), ids.end());
  if (has_images) std::erase_if(words, [](int32_t id) { return id < 0; });
  check_vocabulary(source, words);
  const int64_t context = std::min(model.context(), source.context());
  if (has_images && std::ssize(ids) > context) {
    fail(ErrorCode::LimitExceeded, "images and text have {} tokens, the context holds {}",
         ids.size(), context);
  }
  const auto window = has_images
                          ? ids.size()
                          : static_cast<size_t>(std::clamp<int64_t>(options.window, 1, context));
  const auto mine = model.new_sequence(), theirs = source.new_sequence();
  const bool has_logits = !model.capabilities().greedy_only && !source.capabilities().greedy_only;
  const auto beginning = [&](int64_t wanted, int64_t least) {
    return ids.first(
        std::min(ids.size(), static_cast<size_t>(std::clamp<int64_t>(wanted, least, context))));
  };
  const auto stepped = beginning(has_images ? 0 : options.step_tokens, 0);
  const auto prompt = beginning(has_images ? context : options.greedy_prompt, 1);
  const int64_t greedy_tokens =
      std::min(options.greedy_tokens, context - static_cast<int64_t>(prompt.size()));
  // Text tokens are counted once, continuation tokens each time they are fed.
  uint64_t done = 0;
  const uint64_t total = (has_logits ? ids.size() + 6 * stepped.size() : 0) +
                         2 * (prompt.size() + static_cast<uint64_t>(greedy_tokens));
  const auto advance = [&](uint64_t tokens) {
    done += tokens;
    if (options.progress) options.progress(done, total);
  };
  Compared compared{*mine, *theirs};
  for (size_t begin = 0; has_logits && begin < ids.size(); begin += window) {
    const auto part = ids.subspan(begin, std::min(window, ids.size() - begin));
    begin_with(*mine, options.rows);
    begin_with(*theirs, options.source_rows);
    compared.add(part, begin);
    advance(part.size());
  }
  Agreement result = compared.sums().agreement();
  result.greedy_tokens = greedy_tokens;
  const uint64_t greedy = prompt.size() + static_cast<uint64_t>(greedy_tokens);
  const auto my_ids = continue_greedily(*mine, prompt, greedy_tokens, options.rows);
  advance(greedy);
  const auto their_ids = continue_greedily(*theirs, prompt, greedy_tokens, options.source_rows);
  advance(greedy);
  const auto [a, b] = std::mismatch(my_ids.begin(), my_ids.end(), their_ids.begin());
  if (a != my_ids.end()) result.first_difference = a - my_ids.begin();
  if (has_logits && !stepped.empty()) {
    const StepDifferences model_steps = differences_of_steps(*mine, stepped);
    advance(2 * stepped.size());
    const StepDifferences source_steps = differences_of_steps(*theirs, stepped);
    advance(2 * stepped.size());
    result.step_difference = model_steps.all_at_once;
    result.prefill_difference = model_steps.prefill;
    result.source_step_difference = source_steps.all_at_once;
    result.source_prefill_difference = source_steps.prefill;
    result.parts = compare_parts(*mine, *theirs, stepped);
    advance(2 * stepped.size());
  }
  return result;
}

}  // namespace pippin::runtime
