#include "pippin/app/verify.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/speech_model.h"
#include "pippin/base/error.h"

namespace pippin::app {

namespace fs = std::filesystem;
using runtime::Agreement;

void check_limits(const VerifyLimits& limits) {
  const std::pair<const char*, const std::optional<double>&> all[] = {
      {"--max-kl", limits.max_kl},
      {"--min-top1", limits.min_top1},
      {"--max-perplexity-increase", limits.max_perplexity_increase},
      {"--max-step-difference", limits.max_step_difference},
      {"--max-prefill-difference", limits.max_prefill_difference},
      {"--max-part-difference", limits.max_part_difference}};
  for (const auto& [name, limit] : all) {
    if (!limit || *limit >= 0) continue;
    fail(ErrorCode::InvalidArgument, "{} {}: not a number of 0 or more", name, *limit);
  }
}

std::vector<std::string> broken_limits(const VerifyLimits& limits, const Agreement& result) {
  std::vector<std::string> broken;
  const auto check = [&](bool holds, std::string text) {
    if (!holds) broken.push_back(std::move(text));
  };
  const bool limits_logits = limits.max_kl || limits.min_top1 || limits.max_perplexity_increase ||
                             limits.max_step_difference || limits.max_prefill_difference;
  if (result.tokens == 0 && limits_logits) {
    check(false, "no logits to compare: a model chooses its most likely token itself");
    return broken;
  }
  if (limits.max_kl) {
    check(result.mean_kl <= *limits.max_kl,
          fmt::format("mean KL divergence {:.6f} is above {}", result.mean_kl, *limits.max_kl));
  }
  if (limits.min_top1) {
    check(
        result.top1 * 100 >= *limits.min_top1,
        fmt::format("top-1 agreement {:.2f} % is below {} %", result.top1 * 100, *limits.min_top1));
  }
  if (limits.max_perplexity_increase) {
    const double increase = (result.perplexity / result.source_perplexity - 1) * 100;
    check(result.next_tokens > 0 && increase <= *limits.max_perplexity_increase,
          fmt::format("perplexity is {:.3f} % above the source's, {} % are allowed", increase,
                      *limits.max_perplexity_increase));
  }
  if (limits.max_step_difference) {
    check(result.step_difference <= *limits.max_step_difference,
          fmt::format("step by step differs by {:.2e} from all at once, {} is allowed",
                      result.step_difference, *limits.max_step_difference));
  }
  if (limits.max_prefill_difference) {
    check(result.prefill_difference <= *limits.max_prefill_difference,
          fmt::format("step by step differs by {:.2e} from a prompt in one piece, {} is allowed",
                      result.prefill_difference, *limits.max_prefill_difference));
  }
  if (limits.max_part_difference) {
    check(!result.parts.empty(), "the two models have no parts to compare");
    for (const runtime::PartAgreement& part : result.parts) {
      check(part.difference <= *limits.max_part_difference,
            fmt::format("{} differs by {:.2e} from {}, {} is allowed", part.part, part.difference,
                        part.source_part, *limits.max_part_difference));
    }
  }
  if (limits.same_greedy) {
    check(!result.first_difference,
          fmt::format("greedy token {} differs", result.first_difference.value_or(0)));
  }
  return broken;
}

VerifyResult verify(const ModelChoice& model, const ModelChoice& source, const TokenInput& tokens,
                    const VerifyOptions& options) {
  check_limits(options.limits);
  const std::string local = resolve_model(source.path, ModelPart::All, source.pulls);
  if (fs::exists(local) && is_speech_model(local)) {
    fail(ErrorCode::InvalidArgument, "{}: a model of speech is compared on a recording, not a text",
         source.path);
  }
  if (!tokens.images.empty()) return verify_images(model, source, tokens, options);
  ModelChoice source_choice = source;
  source_choice.layers = true;  // layer outputs are compared with those of the model's parts
  const auto [original, ids, rows] = open_with_tokens(source_choice, tokens);
  const runtime::RunnableModel checked = open_runnable(model);
  VerifyResult result;
  result.agreement =
      runtime::compare_models(*checked.model, *original.model, ids, options.agreement);
  result.broken = broken_limits(options.limits, result.agreement);
  return result;
}

}  // namespace pippin::app
