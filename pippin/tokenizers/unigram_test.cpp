#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/tokenizers/tables/serde_number.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin {
namespace {

using JsonTree = nlohmann::json;
using Ids = std::vector<int32_t>;

// Inserts the scores as text, because a JSON value would already have been parsed.
std::string unigram(const JsonTree& scores) {
  std::string vocab = R"(["<unk>", 0.0])";
  for (const auto& entry : scores) {
    vocab += ", [" + entry[0].dump() + ", " + entry[1].get<std::string>() + "]";
  }
  return R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [)" + vocab + "]}}";
}

TEST(Unigram, TiesAreDecidedAsByTheLibrary) {
  const auto cases =
      JsonTree::parse(read_file(source_dir() / "pippin/tokenizers/unigram_ties.json"));
  int together = 0;
  for (const auto& one : cases) {
    const std::string text = unigram(one["scores"]);
    EXPECT_EQ(Tokenizer::from_json(text, "ties").encode("ab"), one["ids"].get<Ids>())
        << one["scores"];
    together += one["ids"].size() == 1 ? 1 : 0;
  }
  EXPECT_EQ(cases.size(), 60u);
  EXPECT_GT(together, 10);
}

TEST(Unigram, ScoresRoundTwice) {
  const auto read = [](const char* text) { return tokenizers::serde_number(text).value(); };
  EXPECT_EQ(read("0.3"), 0.3);
  EXPECT_EQ(read("-2.5e-1"), -0.25);
  EXPECT_EQ(read("1E+2"), 100);
  EXPECT_EQ(read("-0"), 0);
  // Digits beyond 64 bits are dropped; before the point, their weight is kept.
  EXPECT_EQ(read("1.00000000000000000009"), 1);
  EXPECT_EQ(read("18446744073709551616"), 1844674407370955161.0 * 10);
  EXPECT_EQ(read("18446744073709551616.5"), 1844674407370955161.0 * 10);
  // Exponents above 308 are applied in steps.
  EXPECT_EQ(read("4e-320"), 4 / 1e308 / 1e12);
  EXPECT_EQ(read("1e-99999999999999999999"), 0);
  EXPECT_EQ(read("0e99999999999999999999"), 0);
  EXPECT_FALSE(tokenizers::serde_number("1e309").has_value());
  EXPECT_FALSE(tokenizers::serde_number("2e308").has_value());
  EXPECT_FALSE(tokenizers::serde_number("1e99999999999999999999").has_value());
}

}  // namespace
}  // namespace pippin
