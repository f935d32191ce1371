#include "pippin/cli/options/sampling_options.h"

#include <cmath>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"

namespace pippin::cli {
namespace {

// Ids 0 to 3.
Tokenizer tokenizer() {
  return Tokenizer::from_json(R"({"version": "1.0", "added_tokens": [], "normalizer": null,
    "pre_tokenizer": null, "post_processor": null, "decoder": null,
    "model": {"type": "BPE", "vocab": {"a": 0, "b:": 1, ":": 2, "\n": 3}, "merges": []}})",
                              "tokenizer.json");
}

SamplingArguments parse(std::vector<std::string> words) {
  SamplingArguments arguments;
  CLI::App app;
  add_sampling_options(app, arguments);
  std::reverse(words.begin(), words.end());
  app.parse(words);
  return arguments;
}

std::string message(const SamplingArguments& arguments) {
  try {
    arguments.choice().over({}, tokenizer());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SamplingArguments, StandInPlaceOfTheModelsOwn) {
  const auto options = parse({"--temp", "0.5", "--repeat-last-n", "64", "--seed", "7"})
                           .choice()
                           .over({.temperature = 1, .top_k = 20}, tokenizer());
  EXPECT_EQ(options.temperature, 0.5);
  EXPECT_EQ(options.top_k, 20);
  EXPECT_EQ(options.penalty_last_n, 64);
  EXPECT_EQ(options.seed, 7u);
  EXPECT_TRUE(options.dry_breakers.empty());
}

TEST(SamplingArguments, FindTheTokensThatBreakRepetitions) {
  const auto options =
      parse({"--dry-multiplier", "0.8", "--dry-breaker", ":"}).choice().over({}, tokenizer());
  EXPECT_EQ(options.dry_breakers, (std::vector<int32_t>{1, 2}));
}

TEST(SamplingArguments, ReadBiases) {
  const auto options = parse({"--logit-bias", "0=1.5", "--logit-bias", "1-2", "--logit-bias", "2+3",
                              "--logit-bias", "3=false"})
                           .choice()
                           .over({}, tokenizer());
  EXPECT_EQ(options.logit_bias,
            (std::map<int32_t, double>{{0, 1.5}, {1, -2}, {2, 3}, {3, -INFINITY}}));
  for (const char* wrong : {"", "x=1", "1", "1=", "1=x", "1=nan", "-1=2", "1=2 "}) {
    EXPECT_EQ(message(parse({"--logit-bias", wrong})),
              "--logit-bias: \"" + std::string(wrong) +
                  "\" is not of the form ID=BIAS (a number, or false for never)");
  }
  EXPECT_EQ(message(parse({"--logit-bias", "4=1"})),
            "logit_bias: token 4 is not in the vocabulary of 4");
}

TEST(SamplingArguments, OfAModelWithoutLogits) {
  EXPECT_TRUE(parse({"--temp", "0"}).choice().greedy_only().is_plain_greedy());
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--temp", "1"}, {"--top-k", "1"}, {"--logit-bias", "1=1"}, {"--dry-multiplier", "1"}}) {
    EXPECT_ERROR(
        parse(words).choice().greedy_only(), ErrorCode::Unsupported,
        "this model chooses its most likely token itself and has no logits to sample from");
  }
}

}  // namespace
}  // namespace pippin::cli
