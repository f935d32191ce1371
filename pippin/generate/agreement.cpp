#include "pippin/generate/agreement.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"

namespace pippin::generate {
namespace {

using Row = std::span<const float>;

int64_t likeliest(Row logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

// log(sum of exp(logits)). A NaN or no finite logit is an error: nothing can be said of such a row.
double log_sum_exp(Row logits, std::string_view whose, int64_t position) {
  double largest = -INFINITY;
  for (const float logit : logits) {
    if (std::isnan(logit)) {
      fail(ErrorCode::InvalidFile, "{} gives NaN after token {}", whose, position);
    }
    largest = std::max(largest, static_cast<double>(logit));
  }
  if (!std::isfinite(largest)) {
    fail(ErrorCode::InvalidFile, "{} gives no finite logit after token {}", whose, position);
  }
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

double divergence(Row source, double source_norm, Row model, double model_norm) {
  double kl = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const double log_p = static_cast<double>(source[i]) - source_norm;
    const double p = std::exp(log_p);
    if (p > 0) kl += p * (log_p - (static_cast<double>(model[i]) - model_norm));
  }
  return std::max(kl, 0.0);  // rounding may leave a little less than nothing
}

std::vector<int64_t> continue_greedily(LanguageModel& model, std::span<const int32_t> prompt,
                                       int64_t count) {
  model.reset();
  std::vector<int64_t> ids;
  Row logits = model.prefill(prompt);
  while (static_cast<int64_t>(ids.size()) < count) {
    check_cancel();
    ids.push_back(likeliest(logits));
    if (static_cast<int64_t>(ids.size()) < count) {
      logits = model.decode(static_cast<int32_t>(ids.back()));
    }
  }
  return ids;
}

double difference_of_steps(LanguageModel& model, std::span<const int32_t> ids) {
  model.reset();
  const std::vector<float> together = model.all_logits(ids);
  const auto vocabulary = static_cast<size_t>(model.vocab_size());
  model.reset();
  double worst = 0;
  for (size_t t = 0; t < ids.size(); ++t) {
    check_cancel();
    const Row step = model.decode(ids[t]);
    const Row row(together.data() + t * vocabulary, vocabulary);
    double largest = 0, difference = 0;
    for (size_t i = 0; i < vocabulary; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(row[i])));
      difference = std::max(difference,
                            std::abs(static_cast<double>(row[i]) - static_cast<double>(step[i])));
    }
    if (largest > 0) worst = std::max(worst, difference / largest);
  }
  return worst;
}

}  // namespace

Agreement compare_models(LanguageModel& model, LanguageModel& source, std::span<const int32_t> ids,
                         const AgreementOptions& options) {
  if (ids.empty()) fail(ErrorCode::InvalidArgument, "there is no token to compare models on");
  if (model.vocab_size() != source.vocab_size()) {
    fail(ErrorCode::InvalidArgument, "the model has a vocabulary of {} tokens, its source {}",
         model.vocab_size(), source.vocab_size());
  }
  check_ids(source, ids);
  const int64_t context = std::min(model.context(), source.context());
  const auto window = static_cast<size_t>(std::clamp<int64_t>(options.window, 1, context));
  const auto vocabulary = static_cast<size_t>(model.vocab_size());
  Agreement result;
  double log_likelihood = 0, source_log_likelihood = 0;
  int64_t same = 0;
  for (size_t begin = 0; begin < ids.size(); begin += window) {
    const auto part = ids.subspan(begin, std::min(window, ids.size() - begin));
    model.reset();
    source.reset();
    const std::vector<float> logits = model.all_logits(part);
    const std::vector<float> wanted = source.all_logits(part);
    for (size_t t = 0; t < part.size(); ++t) {
      const auto position = static_cast<int64_t>(begin + t);
      const Row row(logits.data() + t * vocabulary, vocabulary);
      const Row source_row(wanted.data() + t * vocabulary, vocabulary);
      const double norm = log_sum_exp(row, "the model", position);
      const double source_norm = log_sum_exp(source_row, "the source", position);
      const double kl = divergence(source_row, source_norm, row, norm);
      result.mean_kl += kl;
      result.max_kl = std::max(result.max_kl, kl);
      same += likeliest(row) == likeliest(source_row) ? 1 : 0;
      ++result.tokens;
      if (t + 1 == part.size()) continue;
      const auto next = static_cast<size_t>(part[t + 1]);
      log_likelihood += static_cast<double>(row[next]) - norm;
      source_log_likelihood += static_cast<double>(source_row[next]) - source_norm;
      ++result.next_tokens;
    }
  }
  result.mean_kl /= static_cast<double>(result.tokens);
  result.top1 = static_cast<double>(same) / static_cast<double>(result.tokens);
  if (result.next_tokens > 0) {
    result.perplexity = std::exp(-log_likelihood / static_cast<double>(result.next_tokens));
    result.source_perplexity =
        std::exp(-source_log_likelihood / static_cast<double>(result.next_tokens));
  }
  const auto prompt = ids.first(std::min(
      ids.size(), static_cast<size_t>(std::clamp<int64_t>(options.greedy_prompt, 1, context))));
  result.greedy_tokens =
      std::min(options.greedy_tokens, context - static_cast<int64_t>(prompt.size()));
  const auto mine = continue_greedily(model, prompt, result.greedy_tokens);
  const auto theirs = continue_greedily(source, prompt, result.greedy_tokens);
  const auto [a, b] = std::mismatch(mine.begin(), mine.end(), theirs.begin());
  if (a != mine.end()) result.first_difference = a - mine.begin();
  const auto stepped = ids.first(std::min(
      ids.size(), static_cast<size_t>(std::clamp<int64_t>(options.step_tokens, 0, context))));
  if (!stepped.empty()) {
    result.step_difference = difference_of_steps(model, stepped);
    result.source_step_difference = difference_of_steps(source, stepped);
  }
  return result;
}

}  // namespace pippin::generate
