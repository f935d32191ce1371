#include "pippin/model_output/literal_values.h"

#include <gtest/gtest.h>

namespace pippin::model_output {
namespace {

TEST(LiteralValues, OfPython) {
  const auto read = [](std::string_view text) {
    std::string json;
    size_t at = 0;
    const Found found = read_python_value(text, at, json);
    return found == Found::Yes  ? json + "@" + std::to_string(at)
           : found == Found::No ? "no"
                                : "more";
  };
  EXPECT_EQ(read("'a\"b', "), R"("a\"b"@5)");
  EXPECT_EQ(read(R"("x\n\x41\u00e9\'" )"), "\"x\\nA\u00e9'\"@17");
  EXPECT_EQ(read("'''two\nlines''')"), R"("two\nlines"@15)");
  EXPECT_EQ(read("''"), "more");  // a third quote may follow
  EXPECT_EQ(read("'')"), "\"\"@2");
  EXPECT_EQ(read("[1, -2.5, True, None, ('x',)]"), R"([1, -2.5, true, null, ["x"]]@29)");
  EXPECT_EQ(read("{'a': {}, \"b\": []})"), R"({"a": {}, "b": []}@18)");
  EXPECT_EQ(read("1_000)"), "1000@5");
  EXPECT_EQ(read(".5)"), "0.5@2");
  EXPECT_EQ(read("12"), "more");
  EXPECT_EQ(read("[1, "), "more");
  EXPECT_EQ(read("foo)"), "no");
  EXPECT_EQ(read("[1; 2]"), "no");
  EXPECT_EQ(read("{1: 2}"), "no");
  EXPECT_EQ(read(std::string(300, '[')), "no");
}

TEST(LiteralValues, BetweenQuotesOfTheirOwn) {
  const auto read = [](std::string_view text) {
    std::string json;
    size_t at = 0;
    const Found found = read_quoted_value(text, at, "<|\"|>", json);
    return found == Found::Yes ? json : found == Found::No ? "no" : "more";
  };
  EXPECT_EQ(read("<|\"|>it's \"so\"<|\"|>,"), R"("it's \"so\"")");
  EXPECT_EQ(read("[<|\"|>a<|\"|>,2]"), R"(["a", 2])");
  EXPECT_EQ(read("{k:1,<|\"|>l<|\"|>:{}}"), R"({"k": 1, "l": {}})");
  EXPECT_EQ(read("true}"), "true");
  EXPECT_EQ(read("<|\"|>a"), "more");
  EXPECT_EQ(read("'a'}"), "no");
}

}  // namespace
}  // namespace pippin::model_output
