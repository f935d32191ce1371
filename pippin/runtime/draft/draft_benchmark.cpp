#include "pippin/runtime/draft/draft_benchmark.h"

#include <vector>

#include "pippin/base/error.h"
#include "pippin/runtime/benchmark.h"
#include "pippin/runtime/draft/drafting.h"
#include "pippin/runtime/generator.h"
#include "pippin/runtime/sampling/random.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {
namespace {

std::vector<int32_t> random_ids(const Model& model, int64_t count, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(random.uniform() * static_cast<double>(model.vocab_size()));
  }
  return ids;
}

}  // namespace

DraftMeasurement measure_drafts(Model& model, const std::shared_ptr<Drafts>& drafts,
                                const DraftBenchmark& benchmark) {
  if (benchmark.prompt < 1 || benchmark.tokens < 2) {
    fail(ErrorCode::InvalidArgument, "drafts: a prompt of {} and a text of {} tokens are too short",
         benchmark.prompt, benchmark.tokens);
  }
  GenerateOptions options{.max_tokens = benchmark.tokens, .drafts = drafts};
  if (begin_drafting(model, options) == nullptr) {
    fail(ErrorCode::Unsupported,
         "drafts: the model has no logits to compare them with, or cannot drop tokens");
  }
  const auto sequence = model.new_sequence();
  DraftMeasurement result;
  std::vector<double> ratios;
  double plain = 0, drafted = 0;
  for (int round = 0; round < benchmark.repetitions; ++round) {
    const auto prompt =
        random_ids(model, benchmark.prompt, benchmark.seed + static_cast<uint64_t>(round));
    const auto run = [&](bool with) {
      options.drafts = with ? drafts : nullptr;
      sequence->reset();
      GenerateResult text = generate(*sequence, prompt, options, [](int32_t) { return true; });
      if (with) {
        result.tokens += std::ssize(text.ids) - 1;
        result.drafted += text.drafted;
        result.accepted += text.accepted;
      }
      return text.timings.generate_seconds;
    };
    const bool first = round % 2 == 1;
    const double one = run(first), other = run(!first);
    plain += first ? other : one;
    drafted += first ? one : other;
    ratios.push_back(first ? other / one : one / other);
  }
  result.ratio = percentile(ratios, 0.5);
  result.plain_tokens_per_second = static_cast<double>(result.tokens) / plain;
  result.drafted_tokens_per_second = static_cast<double>(result.tokens) / drafted;
  return result;
}

}  // namespace pippin::runtime
