#include "pippin/runtime/sampling/option_table.h"

#include "pippin/base/error.h"

namespace pippin::runtime {
namespace {

using Range = SamplingOption::Range;

constexpr Range kAny = {};
constexpr Range kShare = {.least = 0, .most = 1, .text = "from 0 to 1"};
constexpr Range kPositiveShare = {
    .least = 0, .is_above = true, .most = 1, .text = "above 0 and at most 1"};
constexpr Range kOffOrMore = {.least = 0, .text = "0 (off) or more"};
constexpr Range kAllOrMore = {.least = 0, .text = "0 (all) or more"};

// The name of a member and its two places.
#define PIPPIN_MEMBER(type, name)                    \
#name, SamplingMember < type> {                    \
    &SamplingOptions::name, &SamplingOverrides::name \
  }

constexpr SamplingOption kOptions[] = {
    {PIPPIN_MEMBER(double, temperature),
     {.least = 0, .text = "0 or more"},
     "--temp,--temperature",
     "T",
     "Temperature; 0: always the most likely token"},
    {PIPPIN_MEMBER(int64_t, top_k), kAllOrMore, "--top-k", "K",
     "Sample from the K most likely tokens; 0: from all"},
    {PIPPIN_MEMBER(double, top_p), kPositiveShare, "--top-p", "P",
     "Sample from the fewest tokens whose probabilities sum to P; 1: from all"},
    {PIPPIN_MEMBER(double, min_p), kShare, "--min-p", "P",
     "Drop tokens less than P times as likely as the most likely one; 0: none"},
    {PIPPIN_MEMBER(double, typical_p), kPositiveShare, "--typical-p,--typical", "P",
     "Sample from the most typical tokens whose probabilities sum to P; 1: from all"},
    {PIPPIN_MEMBER(double, xtc_probability), kShare, "--xtc-probability", "P",
     "With probability P, exclude all top choices but the last; 0: off"},
    {PIPPIN_MEMBER(double, xtc_threshold), kPositiveShare, "--xtc-threshold", "P",
     "Top choices are those at least P likely (0.1)"},
    {PIPPIN_MEMBER(double, mirostat_tau), kOffOrMore, "--mirostat-tau,--mirostat-ent", "BITS",
     "Keep the surprisal per token near BITS (Mirostat 2.0); 0: off"},
    {PIPPIN_MEMBER(double, mirostat_eta), kShare, "--mirostat-eta,--mirostat-lr", "R",
     "Learning rate of Mirostat (0.1)"},
    {PIPPIN_MEMBER(double, repetition_penalty),
     {.least = 0, .is_above = true, .text = "above 0"},
     "--repetition-penalty,--repeat-penalty",
     "R",
     "Make tokens of prompt and text less likely; 1: off"},
    {PIPPIN_MEMBER(double, presence_penalty), kAny, "--presence-penalty", "X",
     "Subtract X from the logits of tokens that occur in the text"},
    {PIPPIN_MEMBER(double, frequency_penalty), kAny, "--frequency-penalty", "X",
     "Subtract X from the logit of a token for each time that it occurs in the text"},
    {PIPPIN_MEMBER(int64_t, penalty_last_n), kAllOrMore, "--penalty-last-n,--repeat-last-n", "N",
     "These three penalties look at the last N tokens; 0: at all of them"},
    {PIPPIN_MEMBER(double, dry_multiplier), kOffOrMore, "--dry-multiplier", "X",
     "Penalty for extending a repetition (DRY); 0: off"},
    {PIPPIN_MEMBER(double, dry_base),
     {.least = 1, .text = "1 or more"},
     "--dry-base",
     "X",
     "The DRY penalty grows by this factor per token (1.75)"},
    {PIPPIN_MEMBER(int64_t, dry_allowed_length),
     {.least = 0, .text = "0 or more"},
     "--dry-allowed-length",
     "N",
     "The DRY penalty is for repetitions of at least N tokens (2)"},
    {PIPPIN_MEMBER(int64_t, dry_last_n), kAllOrMore, "--dry-last-n,--dry-penalty-last-n", "N",
     "Look for repetitions in the last N tokens; 0: in all"},
};
#undef PIPPIN_MEMBER

}  // namespace

void SamplingOption::check(const SamplingOptions& options) const {
  std::visit(
      [&](const auto& of) {
        const auto value = options.*of.option;
        const auto number = static_cast<double>(value);
        // Written so that NaN fails.
        const bool is_valid =
            (range.is_above ? number > range.least : number >= range.least) && number <= range.most;
        if (is_valid) return;
        fail(ErrorCode::InvalidArgument, "{} is {}, must be {}", name, value, range.text);
      },
      member);
}

void SamplingOverrides::apply(SamplingOptions& options) const {
  for (const SamplingOption& option : kOptions) {
    std::visit(
        [&](const auto& of) {
          if (const auto& value = this->*of.given) options.*of.option = *value;
        },
        option.member);
  }
}

std::span<const SamplingOption> sampling_options() {
  return kOptions;
}

}  // namespace pippin::runtime
