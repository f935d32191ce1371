#include "pippin/speech/logit_rules.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pippin/speech/scripted_model_testing.h"

namespace pippin::speech {
namespace {

constexpr int32_t kTime = TestTokens::kTime;

class LogitRulesTest : public testing::Test {
 protected:
  LogitRulesTest() {
    rules_.timestamps = LogitRules::Timestamps::Ordered;
    rules_.tokens.end_of_text = TestTokens::kEnd;
    rules_.tokens.no_timestamps = TestTokens::kNoTimestamps;
    rules_.tokens.timestamp_begin = kTime;
    rules_.tokens.timestamp_end = kTime + 51;
  }

  // The allowed tokens after a text, of equal logits, as ranges "begin-last"; timestamps are
  // positions after "t".
  std::string allowed(std::string_view sampled, float text_bonus = 30) {
    std::vector<float> logits(static_cast<size_t>(kTestVocabulary));
    // The sum of the timestamps must not win.
    for (size_t i = 0; i < static_cast<size_t>(kTime); ++i) logits[i] = text_bonus;
    rules_.apply(test_tokens(sampled), logits);
    const auto name = [](int32_t id) {
      return id >= kTime ? fmt::format("t{}", id - kTime) : fmt::format("{}", id);
    };
    std::string ranges;
    for (int32_t id = 0; id < kTestVocabulary; ++id) {
      if (std::isinf(logits[static_cast<size_t>(id)])) continue;
      const int32_t begin = id;
      while (id + 1 < kTestVocabulary && id + 1 != kTime &&
             !std::isinf(logits[static_cast<size_t>(id) + 1])) {
        ++id;
      }
      ranges += fmt::format("{}{}-{}", ranges.empty() ? "" : " ", name(begin), name(id));
    }
    return ranges;
  }

  LogitRules rules_;
};

TEST_F(LogitRulesTest, TimestampBeginsTheText) {
  EXPECT_EQ(allowed(""), "t0-t50");
  rules_.max_initial_timestamp_index = 10;
  EXPECT_EQ(allowed(""), "t0-t10");
  rules_.max_initial_timestamp_index = 1000;
  EXPECT_EQ(allowed(""), "t0-t50");
}

TEST_F(LogitRulesTest, TextFollowsATimestampAtTheStartAndAfterAPair) {
  EXPECT_EQ(allowed("<0>"), "0-265");
  EXPECT_EQ(allowed("<0>a<5><5>"), "0-265");
}

TEST_F(LogitRulesTest, TextMayContinueOrEndInALaterTimestamp) {
  EXPECT_EQ(allowed("<3>ab"), "0-265 t4-t50");
  EXPECT_EQ(allowed("<3>a<7><8>b"), "0-265 t9-t50");
}

TEST_F(LogitRulesTest, TheEndOrAPairFollowsATimestampAfterText) {
  EXPECT_EQ(allowed("<3>a<7>"), "256-265 t7-t50");
}

TEST_F(LogitRulesTest, TimestampsTogetherMayBeMoreProbableThanAnyText) {
  // exp(3) is less than the 46 timestamps that may follow, exp(4) is more.
  EXPECT_EQ(allowed("<3>ab", 3.0F), "t4-t50");
  EXPECT_EQ(allowed("<3>ab", 4.0F), "0-265 t4-t50");
}

TEST_F(LogitRulesTest, SuppressedTokensAndPaddingOfTheVocabularyAreForbidden) {
  rules_.suppressed = {5, 7};
  rules_.suppressed_first = {0, 1};
  rules_.tokens.timestamp_end = kTime + 50;
  EXPECT_EQ(allowed("<3>ab"), "0-4 6-6 8-265 t4-t49");
  rules_.timestamps = LogitRules::Timestamps::None;
  EXPECT_EQ(allowed("a"), "0-4 6-6 8-266");
  rules_.timestamps = LogitRules::Timestamps::Free;
  EXPECT_EQ(allowed(""), "2-4 6-6 8-266 t0-t50");
  EXPECT_EQ(allowed("a"), "0-4 6-6 8-266 t0-t50");
}

}  // namespace
}  // namespace pippin::speech
