#include "pippin/app/verify.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/app/logits.h"
#include "pippin/app/open/open_text.h"
#include "pippin/app/verify_corpus.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"

namespace pippin::app {
namespace {

using Lines = std::vector<std::string>;

ModelChoice choose(const std::filesystem::path& path) {
  ModelChoice choice;
  choice.path = path.string();
  choice.load.threads = 1;
  return choice;
}

TEST(VerifyLimits, AreHeldOneByOne) {
  runtime::Agreement found;
  found.tokens = 10;
  found.next_tokens = 9;
  found.mean_kl = 0.25;
  found.top1 = 0.5;
  found.perplexity = 11;
  found.source_perplexity = 10;
  found.step_difference = 0.125;
  found.prefill_difference = 0.5;
  found.first_difference = 3;
  found.parts = {{"chunk1", "layer2", 0.25}};
  EXPECT_EQ(broken_limits({}, found), Lines());
  const VerifyLimits kept{0.25, 50, 10.1, 0.125, 0.5, 0.25};
  EXPECT_EQ(broken_limits(kept, found), Lines());
  VerifyLimits limits{0.2, 51, 9, 0.1, 0.4, 0.2, true};
  EXPECT_EQ(
      broken_limits(limits, found),
      (Lines{"mean KL divergence 0.250000 is above 0.2", "top-1 agreement 50.00 % is below 51 %",
             "perplexity is 10.000 % above the source's, 9 % are allowed",
             "step by step differs by 1.25e-01 from all at once, 0.1 is allowed",
             "step by step differs by 5.00e-01 from a prompt in one piece, 0.4 is allowed",
             "chunk1 differs by 2.50e-01 from layer2, 0.2 is allowed", "greedy token 3 differs"}));
  found.parts.clear();
  EXPECT_EQ(broken_limits({.max_part_difference = 1}, found),
            Lines{"the two models have no parts to compare"});
  found.tokens = 0;
  EXPECT_EQ(broken_limits({.max_kl = 1}, found),
            Lines{"no logits to compare: a model chooses its most likely token itself"});
  found.mean_kl = std::nan("");
  found.tokens = 10;
  EXPECT_EQ(broken_limits({.max_kl = 1}, found).size(), 1u);
}

TEST(Verify, LimitsAreNotNegative) {
  const auto refused = [](const VerifyLimits& limits, const char* message) {
    VerifyOptions options;
    options.limits = limits;
    EXPECT_ERROR(verify({}, {}, {}, options), ErrorCode::InvalidArgument, message);
    EXPECT_ERROR(verify_images({}, {}, {}, options), ErrorCode::InvalidArgument, message);
    EXPECT_ERROR(verify_speech({}, {}, "", options), ErrorCode::InvalidArgument, message);
    EXPECT_ERROR(verify_corpus({}, {}, {}, options), ErrorCode::InvalidArgument, message);
  };
  refused({.max_kl = -1}, "--max-kl -1: not a number of 0 or more");
  refused({.min_top1 = -0.5}, "--min-top1 -0.5: not a number of 0 or more");
  refused({.max_perplexity_increase = -1}, "--max-perplexity-increase -1: not a number");
  refused({.max_step_difference = std::nan("")}, "--max-step-difference nan: not a number");
  refused({.max_prefill_difference = -1}, "--max-prefill-difference -1: not a number");
  refused({.max_part_difference = -1}, "--max-part-difference -1: not a number");
}

TEST(Verify, AConvertedModelAgreesWithItsSource) {
  const TempDir scratch;
  const auto package = scratch / "m.mlpackage";
  convert(demo_model_folder(), package);
  VerifyOptions options;
  options.agreement.greedy_tokens = 8;
  options.limits = {.max_kl = 1e-3, .min_top1 = 90, .same_greedy = true};
  const TokenInput text{{}, "Once upon a time there was a little girl"};
  const VerifyResult result = verify(choose(package), choose(demo_model_folder()), text, options);
  EXPECT_EQ(result.broken, Lines());
  EXPECT_TRUE(result.holds());
  EXPECT_EQ(result.agreement.greedy_tokens, 8);
  EXPECT_EQ(result.agreement.tokens,
            static_cast<int64_t>(open_tokenizer(package).encode(*text.text).size()));

  options.limits.min_top1 = 101;
  EXPECT_EQ(verify(choose(package), choose(demo_model_folder()), text, options).broken.size(), 1u);
  EXPECT_ERROR(verify(choose(scratch / "absent"), choose(demo_model_folder()), text),
               ErrorCode::NotFound, "absent");
}

TEST(Logits, AreTheSameInSteps) {
  const Logits at_once = compute_logits(choose(demo_model_folder()), {{1, 5, 9, 2}, std::nullopt});
  const Logits steps =
      compute_logits(choose(demo_model_folder()), {{1, 5, 9, 2}, std::nullopt}, true);
  ASSERT_EQ(at_once.values.size(), static_cast<size_t>(4 * at_once.vocabulary));
  ASSERT_EQ(steps.values.size(), at_once.values.size());
  for (size_t i = 0; i < steps.values.size(); ++i) {
    ASSERT_NEAR(steps.values[i], at_once.values[i], 0.05) << i;
  }
  EXPECT_EQ(steps.next_id(), at_once.next_id());
  EXPECT_EQ(steps.ids, (std::vector<int32_t>{1, 5, 9, 2}));
  EXPECT_ERROR(compute_logits(choose(demo_model_folder()), {}), ErrorCode::InvalidArgument,
               "no token to give logits for");
}

}  // namespace
}  // namespace pippin::app
