// The prompt cache of a scheduler with a model of every family.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/scheduling/requests_testing.h"
#include "pippin/scheduling/scheduler.h"
#include "tests/sequence_families.h"

namespace pippin {
namespace {

using namespace sequence_families;
using scheduling::Asked;
using scheduling::Scheduler;
using Ids = std::vector<int32_t>;

class PromptCacheOfFamilies : public testing::TestWithParam<Family> {
 protected:
  // The beginning of one conversation, or of another that shares a prefix with it.
  Ids prompt(size_t count, int32_t other_from) const {
    Ids ids;
    for (int32_t i = 0; i < static_cast<int32_t>(count); ++i) {
      const int32_t id = i < other_from ? i * 7 + 3 : i * 5 + 1;
      ids.push_back(static_cast<int32_t>(id % model_->vocab_size()));
    }
    return ids;
  }
  static scheduling::Request request(Ids ids) {
    scheduling::Request request{std::move(ids), {}};
    request.options.max_tokens = 4;
    return request;
  }

  TempDir scratch_, disk_;
  const std::shared_ptr<Model> model_ = GetParam().load(scratch_.path());
  const Tokenizer tokenizer_ = Tokenizer::open(demo());
};

TEST_P(PromptCacheOfFamilies, GivesTheSameTokens) {
  std::vector<Ids> prompts;
  for (const auto& [count, from] :
       {std::pair(6, 99), {6, 99}, {13, 99}, {9, 4}, {13, 7}, {13, 99}}) {
    prompts.push_back(prompt(static_cast<size_t>(count), from));
  }
  std::vector<Ids> expected;
  for (const Ids& ids : prompts) {
    Scheduler scheduler(model_, tokenizer_, {.cache_ram = 0});
    const Asked asked = scheduling::ask(scheduler, request(ids));
    EXPECT_EQ(asked.heard->wait().cached_tokens, 0);
    EXPECT_EQ(asked.heard->error(), "");
    expected.push_back(asked.heard->ids);
  }
  for (int run = 0; run < 2; ++run) {  // the second run finds the first one's files
    int64_t cached = 0;
    {
      Scheduler scheduler(model_, tokenizer_, {.cache_ram = 1 << 26, .cache_disk = disk_.path()});
      for (size_t i = 0; i < prompts.size(); ++i) {
        const Asked asked = scheduling::ask(scheduler, request(prompts[i]));
        cached += asked.heard->wait().cached_tokens;
        EXPECT_EQ(asked.heard->ids, expected[i]) << "prompt " << i << ", run " << run;
        scheduling::wait_until_idle(scheduler);
      }
      EXPECT_EQ(scheduler.state().cache.read > 0, run == 1);
      EXPECT_EQ(scheduler.state().cache.discarded, 0U);
    }
    // Few tokens if only short texts share a prefix.
    EXPECT_GE(cached, run == 0 ? 5 : 10);
    // All at once.
    Scheduler scheduler(model_, tokenizer_, {.cache_ram = 1 << 26});
    std::vector<Asked> all;
    for (const Ids& ids : prompts) all.push_back(scheduling::ask(scheduler, request(ids)));
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].heard->wait();
      EXPECT_EQ(all[i].heard->ids, expected[i]) << "prompt " << i << ", together";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, PromptCacheOfFamilies, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return family.param.name; });
INSTANTIATE_TEST_SUITE_P(Caches, PromptCacheOfFamilies, testing::ValuesIn(kCacheFamilies),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace pippin
