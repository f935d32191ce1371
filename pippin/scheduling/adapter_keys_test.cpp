#include "pippin/scheduling/adapter_keys.h"

#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/runtime/fake_model.h"

namespace pippin::scheduling {
namespace {

using Ids = std::vector<int32_t>;

class AdaptedModel final : public runtime::Model {
 public:
  AdaptedModel() {
    tell({.context = 10,
          .vocab_size = 100,
          .adapters = {{"a", "", 1.0F, true}, {"b", "", 0.5F, true}}});
  }

 private:
  std::unique_ptr<runtime::Sequence> make_sequence() override { return nullptr; }
};

Ids keyed(AdapterKeys& keys, const Ids& tokens, const std::vector<float>& adapters) {
  const auto found = keys.keyed(tokens, adapters);
  return {found.begin(), found.end()};
}

TEST(AdapterKeys, TextsOfDifferentAdaptersBeginDifferently) {
  AdapterKeys keys{AdaptedModel()};
  const Ids text = {7, 8, 9};
  EXPECT_EQ(keyed(keys, text, {}), text);
  EXPECT_EQ(keyed(keys, text, {0, 0}), text);
  std::set<int32_t> firsts;
  for (const std::vector<float>& adapters :
       std::vector<std::vector<float>>{{1, 0}, {0, 0.5F}, {0.5F, 0}, {0, 1}, {1, 0.5F}, {-1, 0}}) {
    const Ids found = keyed(keys, text, adapters);
    ASSERT_EQ(found.size(), 3);
    EXPECT_TRUE(firsts.insert(found[0]).second);
    EXPECT_EQ(Ids(found.begin() + 1, found.end()), Ids({8, 9}));
    EXPECT_EQ(keys.plain(found), text);
    EXPECT_EQ(keyed(keys, text, adapters), found);  // the same again
    // Only a single adapter at its own scale has the same key in every process.
    const bool is_own =
        adapters == std::vector<float>{1, 0} || adapters == std::vector<float>{0, 0.5F};
    EXPECT_EQ(keys.is_lasting(found[0]), is_own);
  }
  EXPECT_TRUE(keys.is_lasting(99));
  EXPECT_EQ(keyed(keys, {6, 8}, {1, 0})[0] + 1, keyed(keys, {7, 8}, {1, 0})[0]);
}

TEST(AdapterKeys, TextsThatCannotBeKeptHaveNoTokens) {
  AdapterKeys keys{AdaptedModel()};
  EXPECT_TRUE(keyed(keys, {-5, 3}, {1, 0}).empty());
  EXPECT_EQ(keyed(keys, {-5, 3}, {0, 0}), Ids({-5, 3}));
  for (int i = 1; i <= 4096; ++i) {
    EXPECT_FALSE(keyed(keys, {1}, {static_cast<float>(i) + 0.5F, 0}).empty());
  }
  EXPECT_TRUE(keyed(keys, {1}, {9999, 0}).empty());
  EXPECT_FALSE(keyed(keys, {1}, {1.5F, 0}).empty());
}

}  // namespace
}  // namespace pippin::scheduling
