// For tests: a model against what another implementation stored of it (golden_testing.h).
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "pippin/runtime/sequence.h"
#include "tests/golden_testing.h"
#include "tests/reference_logits.h"
#include "tests/rows_together_testing.h"

namespace pippin::testing_models {

constexpr size_t kNone = std::string::npos;

// The logits of the prompt and of its greedy continuation; the most likely token is Hugging Face's.
// The tolerance is relative to the largest logit. Results after a `flip` of the prompt are judged
// by how many of the most likely tokens are Hugging Face's.
inline void expect_golden(runtime::Sequence& sequence, const Golden& golden, double tolerance,
                          size_t near_tie = kNone, size_t flip = kNone) {
  const double allowed = tolerance * golden.largest_logit();
  const size_t compared = std::min(flip, golden.prompt.size()) * golden.vocabulary;
  const auto all = sequence.all_logits(golden.prompt);
  EXPECT_LE(
      max_difference(std::span(all).first(compared), std::span(golden.logits).first(compared)),
      allowed);
  sequence.reset();
  std::span<const float> logits = sequence.prefill(golden.prompt);
  size_t equal = 0;
  for (size_t i = 0; i < golden.generated.size(); ++i) {
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    equal += best == golden.generated[i] ? 1 : 0;
    if (flip == kNone) {
      ASSERT_LE(max_difference(logits, golden.gen_row(i)), allowed) << "token " << i;
      if (i != near_tie) {
        ASSERT_EQ(best, golden.generated[i]) << "token " << i;
      }
    }
    if (i + 1 < golden.generated.size()) logits = sequence.decode(golden.generated[i]);
  }
  EXPECT_GE(equal + 5, golden.generated.size());
  expect_equal_rows(sequence, golden.prompt, golden.generated);
}

}  // namespace pippin::testing_models
