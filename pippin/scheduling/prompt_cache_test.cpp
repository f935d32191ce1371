#include "pippin/scheduling/prompt_cache.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "pippin/base/numbers/ranges.h"
#include "pippin/base/testing.h"
#include "pippin/scheduling/row_model_testing.h"

namespace pippin::scheduling {
namespace {

using Ids = std::vector<int32_t>;
using Keeps = RowModel::Keeps;

constexpr uint64_t kPlenty = uint64_t{1} << 30;

std::shared_ptr<RowModel> row_model(Keeps keeps = Keeps::Rows, bool many_sequences = true) {
  return std::make_shared<RowModel>(4000, 64, keeps, many_sequences);
}

int32_t most_likely(std::span<const float> row) {
  return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

// Serves a request: reads a prompt in pieces and generates some tokens, which must be those that
// the model returns without a cache.
struct Served {
  int64_t cached = 0;
  Ids tokens;  // all tokens fed
};
Served serve(RowModel& model, PromptCache& cache, Ids tokens, size_t generate, size_t piece = 37) {
  Served served;
  PromptCache::Lent lent = cache.begin(tokens);
  runtime::Sequence& sequence = *lent.sequence;
  EXPECT_TRUE(ranges::equal(sequence.tokens(), std::span(tokens).first(sequence.tokens().size())));
  while (cache.extend(sequence, tokens, 0)) {
  }
  served.cached = sequence.position();
  EXPECT_LT(served.cached, std::ssize(tokens));
  EXPECT_TRUE(ranges::equal(sequence.tokens(), std::span(tokens).first(sequence.tokens().size())));
  int64_t kept = served.cached;
  int32_t next = -1;
  const auto size = tokens.size();
  for (size_t done = sequence.tokens().size(); done < size;) {
    size_t count = std::min(piece, size - done);
    const bool is_end = done + count == size;
    if (is_end && count > 1 && cache.keeps_ends()) --count;
    next = most_likely(sequence.prefill(std::span(tokens).subspan(done, count)));
    done += count;
    kept = cache.keep(sequence, kept, done + 1 == size);
  }
  for (size_t i = 0; i < generate; ++i) {
    EXPECT_EQ(next, model.next(tokens));
    tokens.push_back(next);
    next = most_likely(sequence.decode(next));
  }
  EXPECT_EQ(next, model.next(tokens));
  cache.end(std::move(lent), kept);
  served.tokens = std::move(tokens);
  return served;
}

int64_t common(const Ids& a, const Ids& b) {
  const size_t most = std::min(a.size(), b.size());
  return std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(most), b.begin()).first -
         a.begin();
}

Ids random_ids(std::mt19937_64& random, size_t count, int32_t kinds = 60) {
  Ids ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % static_cast<uint64_t>(kinds));
  return ids;
}

// A prompt that shares a prefix with an earlier one, more or less.
Ids some_prompt(std::mt19937_64& random, const std::vector<Ids>& known) {
  Ids ids;
  if (!known.empty() && random() % 5 > 0) {
    const Ids& other = known[random() % known.size()];
    ids.assign(other.begin(), other.begin() + static_cast<ptrdiff_t>(random() % other.size()));
    if (random() % 3 == 0) ids = other;
  }
  const Ids more = random_ids(random, 1 + random() % 90, random() % 2 == 0 ? 2 : 60);
  if (ids.empty() || random() % 8 > 0) ids.insert(ids.end(), more.begin(), more.end());
  return ids;
}

class PromptCaches : public testing::TestWithParam<Keeps> {};

// Compared with a plain list of the tokens fed.
TEST_P(PromptCaches, FindTheLongestPrefixOfAll) {
  const bool is_rows = GetParam() == Keeps::Rows;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::mt19937_64 random(seed);
    const auto model = row_model(GetParam());
    PromptCache cache(model, {.ram_bytes = kPlenty});
    std::vector<Ids> known, ends;
    for (int i = 0; i < 60; ++i) {
      const Ids prompt = some_prompt(random, known);
      int64_t expected = 0;
      for (const Ids& other : is_rows ? known : ends) {
        const int64_t same = common(other, prompt);
        if (!is_rows && same < std::ssize(other)) continue;
        if (!is_rows && same == std::ssize(prompt)) continue;  // at least one token is fed
        expected = std::max(expected, std::min(same, std::ssize(prompt) - 1));
      }
      EXPECT_EQ(cache.look_up(prompt).tokens, expected);
      const Served served = serve(*model, cache, prompt, random() % 30);
      EXPECT_EQ(served.cached, expected) << "seed " << seed << ", request " << i;
      known.push_back(served.tokens);
      ends.push_back(served.tokens);
      if (prompt.size() > 1) ends.emplace_back(prompt.begin(), prompt.end() - 1);
    }
  }
}

TEST_P(PromptCaches, ServeTheSameFromLittleMemory) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::mt19937_64 random(seed);
    const auto model = row_model(GetParam());
    const uint64_t limit = 20'000 + random() % 40'000;
    PromptCache cache(model, {.ram_bytes = limit});
    std::vector<Ids> known;
    int64_t cached = 0;
    for (int i = 0; i < 60; ++i) {
      const Served served = serve(*model, cache, some_prompt(random, known), random() % 20);
      cached += served.cached;
      known.push_back(served.tokens);
      if (known.size() > 6) known.erase(known.begin());
      EXPECT_LE(cache.state().ram_bytes, static_cast<int64_t>(limit));
    }
    EXPECT_GT(cached, 0);
    EXPECT_GT(cache.state().evicted, 0U);
  }
}

TEST_P(PromptCaches, GoThroughAFolder) {
  const TempDir folder;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::mt19937_64 random(seed);
    const auto model = row_model(GetParam());
    std::vector<Ids> known;
    const std::filesystem::path place = folder / std::to_string(seed);
    const bool is_plenty = seed % 2 == 0;
    const uint64_t limit = is_plenty ? kPlenty : 60'000;
    for (int run = 0; run < 3; ++run) {
      PromptCache cache(model,
                        {.ram_bytes = limit, .folder = place, .disk_bytes = kPlenty, .key = "k"});
      for (const Ids& text : known) {
        Ids more = text;
        more.push_back(1);
        // With little memory, some nodes come faster than they can be written.
        if (is_plenty) {
          EXPECT_EQ(cache.look_up(more).tokens, std::ssize(text)) << seed;
        }
      }
      int64_t cached = 0;
      for (int i = 0; i < 12; ++i) {
        const Served served = serve(*model, cache, some_prompt(random, known), random() % 20);
        cached += served.cached;
        known.push_back(served.tokens);
        EXPECT_LE(cache.state().ram_bytes, static_cast<int64_t>(limit));
      }
      EXPECT_GT(cached, 0);
      EXPECT_EQ(cache.state().read > 0, run > 0);
      EXPECT_EQ(cache.state().discarded, 0U);
    }
  }
}

const char* name_of(const testing::TestParamInfo<Keeps>& kind) {
  return kind.param == Keeps::Rows ? "rows" : kind.param == Keeps::State ? "state" : "both";
}

INSTANTIATE_TEST_SUITE_P(Kinds, PromptCaches,
                         testing::Values(Keeps::Rows, Keeps::State, Keeps::Both), name_of);

// Equal prefixes are stored once.
TEST(PromptCache, KeepsNothingTwice) {
  std::mt19937_64 random(1);
  const auto model = row_model();
  PromptCache cache(model, {.ram_bytes = kPlenty});
  std::set<Ids> prefixes;
  std::vector<Ids> known;
  for (int i = 0; i < 50; ++i) {
    known.push_back(some_prompt(random, known));
    const auto sequence = model->new_sequence();
    sequence->prefill(known.back());
    cache.keep(*sequence, 0);
    Ids prefix;
    for (const int32_t id : known.back()) {
      prefix.push_back(id);
      prefixes.insert(prefix);
    }
    const CacheState state = cache.state();
    const int64_t rows =
        std::ssize(prefixes) * static_cast<int64_t>(RowModel::kRowBytes + sizeof(int32_t));
    const auto node = static_cast<int64_t>(sizeof(TokenNode)) + 200;
    EXPECT_EQ(state.ram_bytes, rows + state.entries * node);
  }
}

TEST(PromptCache, ANextTurnCopiesNothing) {
  const auto model = row_model();
  PromptCache cache(model, {.ram_bytes = kPlenty});
  std::mt19937_64 random(2);
  Served served = serve(*model, cache, random_ids(random, 300), 10);
  for (int turn = 0; turn < 3; ++turn) {
    Ids prompt = served.tokens;
    for (const int32_t id : random_ids(random, 20)) prompt.push_back(id);
    const PromptCache::Lent lent = cache.begin(prompt);
    EXPECT_EQ(lent.sequence->position(), std::ssize(served.tokens));
    cache.end({cache.begin(prompt).sequence, 0}, 0);  // another sequence, which needs a copy
    served = serve(*model, cache, prompt, 10);
    EXPECT_GE(served.cached, std::ssize(prompt) - 20);
  }
}

// A text that shares little with an ended one does not take its sequence.
TEST(PromptCache, AShortTextDoesNotTakeALongOnesSequence) {
  const auto model = row_model();
  PromptCache cache(model, {.ram_bytes = kPlenty});
  std::mt19937_64 random(3);
  const Served longer = serve(*model, cache, random_ids(random, 400), 5);
  Ids title(longer.tokens.begin(), longer.tokens.begin() + 50);
  title.push_back(61);
  EXPECT_EQ(serve(*model, cache, title, 5).cached, 50);
  Ids next = longer.tokens;
  next.push_back(1);
  EXPECT_EQ(cache.begin(next).sequence->position(), std::ssize(longer.tokens));
}

TEST(PromptCache, OneSequenceIsAllThatThereIs) {
  const auto model = row_model(Keeps::Rows, /*many_sequences=*/false);
  PromptCache cache(model, {.ram_bytes = kPlenty});
  std::mt19937_64 random(4);
  const Ids first = serve(*model, cache, random_ids(random, 100), 5).tokens;
  EXPECT_EQ(serve(*model, cache, random_ids(random, 100), 5).cached, 0);
  Ids again = first;
  again.push_back(3);
  EXPECT_EQ(serve(*model, cache, again, 5).cached, std::ssize(first));
}

TEST(PromptCache, IsOffWithoutMemory) {
  const auto model = row_model();
  PromptCache cache(model, {});
  std::mt19937_64 random(5);
  const Ids prompt = random_ids(random, 40);
  EXPECT_EQ(serve(*model, cache, prompt, 3).cached, 0);
  EXPECT_EQ(serve(*model, cache, prompt, 3).cached, 0);
  EXPECT_EQ(cache.state().entries + cache.state().ram_bytes, 0);
}

TEST(PromptCache, TellsWhereATextDiffers) {
  const auto model = row_model();
  PromptCache cache(model, {.ram_bytes = kPlenty});
  serve(*model, cache, {1, 2, 3, 4, 5}, 0);
  const auto known = cache.look_up(Ids{1, 2, 9, 4, 5});
  EXPECT_EQ(known.tokens, 2);
  EXPECT_EQ(known.same, 2);
  EXPECT_EQ(known.next, 3);
  EXPECT_EQ(cache.look_up(Ids{1, 2, 3, 4, 5, 6}).next, -1);
  EXPECT_EQ(cache.look_up(Ids{1, 2}).next, -1);
  EXPECT_EQ(cache.look_up(Ids{1, 2}).tokens, 1);
}

}  // namespace
}  // namespace pippin::scheduling
