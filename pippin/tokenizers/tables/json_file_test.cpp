// Compares tokenizer.json read with scanned tables with the same file read by Json alone:
// documents, tables and errors are equal for every file.
#include "pippin/tokenizers/tables/json_file.h"

#include <algorithm>
#include <random>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/tokenizers/tables/json_file_testing.h"
#include "pippin/tokenizers/tables/table_scanner.h"

namespace pippin::tokenizers {
namespace {

std::string strings_of(const StringPool& pool) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < pool.size(); ++i) list.push_back(std::string(pool[i]));
  return list.dump();
}

std::string model(const std::string& content) {
  return R"({"model": {)" + content + "}}";
}

// Returns Json's error for a text that is not JSON.
std::string fault(std::string_view text) {
  JsonLimits limits;
  limits.max_depth = 64;
  try {
    Json::parse(text, "x", limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Returns the file's content, or its error, which must be Json's if the file is not JSON.
std::string read(const std::string& text) {
  // An allocation of exactly this size, so that a sanitizer detects reads past the end.
  const std::vector<char> bytes(text.begin(), text.end());
  const std::string broken = fault(text);
  try {
    const JsonFile file = read_json_file({bytes.data(), bytes.size()}, "x");
    EXPECT_EQ(broken, "") << text;
    EXPECT_TRUE(broken.empty() && json_file_testing::same(file, Json::parse(text, "x"))) << text;
    return fmt::format("{} vocab {} {} {} scores {} {} merges {} {}", file.root->dump(),
                       file.has_vocab, strings_of(file.vocab_tokens), file.vocab_ids,
                       file.has_scores, file.vocab_scores, file.has_merges,
                       strings_of(file.merge_parts));
  } catch (const Error& error) {
    const std::string what = error.what();
    const bool is_json = broken.empty();
    EXPECT_TRUE(is_json || what == broken || what == "x: not a JSON object") << text << what;
    EXPECT_FALSE(is_json && what.find("not valid JSON") != std::string::npos) << text << what;
    return "error: " + what;
  }
}

std::string vocab(const std::string& entries) {
  return read(model(R"("vocab": {)" + entries + "}"));
}
std::string merges(const std::string& entries) {
  return read(model(R"("merges": [)" + entries + "]"));
}
std::string scores(const std::string& entries) {
  return read(model(R"("vocab": [)" + entries + "]"));
}

testing::AssertionResult says(const std::string& outcome, const std::string& part) {
  if (outcome.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << outcome << "\nlacks " << part;
}

TEST(JsonFile, RealFilesBothWays) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "tokenizers");
  int count = 0;
  for (const auto& folder : folders) {
    const auto path = folder / "tokenizer.json";
    if (!std::filesystem::exists(path)) continue;
    ++count;
    const std::string text = read_file(path);
    const JsonFile file = read_json_file(text, "x");
    EXPECT_TRUE(json_file_testing::same(file, Json::parse(text, "x"))) << path;
    EXPECT_GT(file.vocab_tokens.size(), 0u) << path;
  }
  EXPECT_GE(count, 5);
}

TEST(JsonFile, Escapes) {
  EXPECT_TRUE(says(vocab(R"("a":0,"\"\\\/\b\f\n\r\t":1,"\u0120x\u00E9\uABCDé":2,"\u0000":3)"),
                   "vocab true [\"a\",\"\\\"\\\\/\\b\\f\\n\\r\\t\",\"\u0120x\u00E9\uABCDé\","
                   "\"\\u0000\"] [0, 1, 2, 3]"));
  EXPECT_TRUE(
      says(vocab(R"("a": 0, "\ud83d\ude00": 1, "c": 2)"), "\"\U0001F600\",\"c\"] [0, 1, 2]"));
  EXPECT_TRUE(says(merges(R"("a b", "\u0120 \"", "c d")"), "[\"a\",\"b\",\"\u0120\",\"\\\"\","));
  for (const char* broken : {R"(\ud83d)", R"(\ude00)", R"(\ud83dx)", R"(\ud83d\u0041)", R"(\u12g4)",
                             R"(\u12)", R"(\x)", "\\", "\x01", "\n", "\xC3", "\xC0\x80",
                             "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xFF", "\x80"}) {
    EXPECT_TRUE(says(vocab(fmt::format(R"("a": 0, "{}": 1, "c": 2)", broken)), "not valid JSON"));
    EXPECT_TRUE(says(merges(fmt::format(R"("a b", "c {}", "c d")", broken)), "error"));
    EXPECT_TRUE(says(scores(fmt::format(R"(["a", 0], ["{}", 1])", broken)), "not valid JSON"));
  }
}

TEST(JsonFile, Ids) {
  EXPECT_TRUE(says(vocab(R"("a": 16777215, "b": 0, "a": 7)"), "[16777215, 0, 7]"));
  for (const char* id : {"1.0", "1e3", "-1", "-0", "16777216", "99999999999999999999", "1e-3",
                         "null", "true", "\"1\"", "[1]", "{}"}) {
    const std::string entries = fmt::format(R"("a": 0, "b": {}, "c": 2)", id);
    // An id of an unsupported number type is reported with its token's index.
    EXPECT_TRUE(says(vocab(entries), "the id of token 1 is not from 0 to 16777215")) << id;
  }
  for (const char* id :
       {"01", "1.", "+1", ".5", "1e", "0x1", "- 1", "1 2", "1a", "nul", "'1'", ""}) {
    EXPECT_TRUE(says(vocab(fmt::format(R"("a": 0, "b": {}, "c": 2)", id)), "not valid JSON")) << id;
  }
}

TEST(JsonFile, Scores) {
  EXPECT_TRUE(says(scores(R"(["a", 0], ["b", -1.5e-1], ["c", 1E+2], ["d", 18446744073709551616])"),
                   "[0, -0.15, 100, 1.8446744073709552e+19]"));
  EXPECT_TRUE(says(scores(R"(["a", -0.0], ["b", 4e-320], ["c", 1e-999])"), "[-0, 4e-320, 0]"));
  EXPECT_TRUE(says(scores(R"(["a", 0], ["b", 1e999])"), "number overflow"));
  for (const char* entry : {R"(["b"])", R"([1, "b"])", R"(["b", 1, 2])", R"(["b", "c"])", "[]", "1",
                            R"(["b", null])", R"(["b", [1]])", R"("b")", "{}"}) {
    EXPECT_TRUE(says(scores(fmt::format(R"(["a", 0], {}, ["c", 1])", entry)),
                     "entry 1 is not a token and its score"));
  }
  for (const char* number : {"1.", "01", "-", "inf", "nan", "1e", ".1", "+1", "1.e5"}) {
    EXPECT_TRUE(says(scores(fmt::format(R"(["a", 0], ["b", {}])", number)), "not valid JSON"));
  }
}

TEST(JsonFile, Merges) {
  EXPECT_TRUE(says(merges(R"("#version: 0.2", "a b", "#version", " b", "c d")"),
                   R"(merges true ["a","b","","b","c","d"])"));
  EXPECT_TRUE(says(merges(R"(["a", "b c"], ["", ""], "d e", [ "f" , "g" ] , "h i")"),
                   R"(["a","b c","","","d","e","f","g","h","i"])"));
  for (const char* merge : {R"("ab")", R"("a b c")", R"("")", R"(["a"])", R"(["a", "b", "c"])",
                            R"([["a"], "b"])", R"(["a", 1])", "1", "null", "{}", "[]"}) {
    EXPECT_TRUE(
        says(merges(fmt::format(R"("a b", {}, "c d")", merge)), "merge 1 is not two tokens"));
  }
}

TEST(JsonFile, TablesAnywhere) {
  EXPECT_TRUE(says(read("{}"), "vocab false [] [] scores false [] merges false []"));
  EXPECT_TRUE(says(vocab(""), "vocab true [] []"));
  EXPECT_TRUE(says(merges(""), "merges true []"));
  EXPECT_TRUE(says(scores(""), "scores true []"));
  const std::string spaces = " \t\r\n\n  ";
  std::string spaced;
  for (const char* part : {R"("a")", ":", "0", ",", R"("b")", ":", "1"}) spaced += part + spaces;
  EXPECT_TRUE(says(vocab(spaces + spaced), R"(["a","b"] [0, 1])"));
  EXPECT_TRUE(
      says(read(model(R"("merges": ["a b", "c d"], "x": [1], "vocab": {"a": 0, "b": 1})")),
           R"({"model":{"merges":null,"x":[1],"vocab":null}} vocab true ["a","b"] [0, 1])"));
  // The last of repeated keys counts, in either form.
  EXPECT_TRUE(says(read(model(R"("vocab": {"a": 0, "b": 1}, "vocab": {"c": 2, "d": 3})")),
                   R"(vocab true ["c","d"] [2, 3] scores false)"));
  EXPECT_TRUE(says(read(model(R"("vocab": {"a": 0, "b": 1}, "vocab": [["c", 2], ["d", 3]])")),
                   R"(vocab false ["c","d"] [] scores true [2, 3])"));
  EXPECT_TRUE(says(read(model(R"("vocab": [["c", 2], ["d", 3]], "vocab": {"a": 0, "b": 1})")),
                   R"(vocab true ["a","b"] [0, 1] scores false)"));
  EXPECT_TRUE(says(read(model(R"("merges": ["a b", "c d"], "merges": [["e", "f"], ["g", "h"]])")),
                   R"(merges true ["e","f","g","h"])"));
  read(R"({"model": {"vocab": {"a": 0, "b": 1}}, "model": {"merges": ["a b"]}, "model": 1})");
  // Tables outside `model`.
  EXPECT_TRUE(says(read(R"({"vocab": {"a": 0, "b": 1}, "x": {"model": {"merges": ["a", "b"]}}})"),
                   R"("x":{"model":{"merges":["a","b"]}}} vocab false)"));
}

TEST(JsonFile, WhatIsNoJsonIsNamedWithItsPlace) {
  EXPECT_TRUE(says(read("{\"model\": {\"vocab\": {\"a\": 0,\n \"b\": 1,\n \"c\" 2}}}"),
                   "at byte 44 (line 3, column 6): syntax error while parsing object separator - "
                   "unexpected number literal"));
  EXPECT_TRUE(
      says(read("{\"model\": {\"merges\": [\"a b\",\n\"c d\",\n]}}"), "(line 3, column 1): "));
  for (const std::string table :
       {R"("vocab": {"a": 0, "b": 1)", R"("vocab": [["a", 0], ["b", 1])",
        R"("merges": ["a b", "c d")", R"("merges": [["a", "b"], ["c", "d"])"}) {
    const char close = table[table.find_first_of("[{")] == '{' ? '}' : ']';
    for (const char* end : {"", ",", ":", "\"", "[", ",,", "\"x", ",\"x", ", 1 1", " x"}) {
      EXPECT_TRUE(says(read(model(table + end)), "error: x: "));
    }
    const std::string whole = model(table + close);
    EXPECT_FALSE(says(read(whole), "error"));
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_TRUE(says(read(whole.substr(0, size)), "not valid JSON"));
      std::string zero = whole;
      zero[size] = 0;
      EXPECT_TRUE(says(read(zero), "error"));
    }
    EXPECT_TRUE(says(read(whole + "x"), "not valid JSON"));
    EXPECT_FALSE(says(read("\xEF\xBB\xBF" + whole), "error"));  // a byte order mark is allowed
  }
  EXPECT_TRUE(says(read("[1]"), "not a JSON object"));
  EXPECT_TRUE(says(read(model(R"("x": )" + std::string(62, '[') + std::string(62, ']'))), "[[["));
  EXPECT_TRUE(
      says(read(model(R"("x": )" + std::string(63, '[') + std::string(63, ']'))), "levels"));
}

// Random mutations of a valid file.
TEST(JsonFile, RandomChangesBothWays) {
  constexpr uint32_t kSeed = 6;
  std::mt19937 random(kSeed);
  const auto below = [&](size_t count) { return random() % count; };
  const std::string sources[] = {
      model(R"("vocab": {"a": 0, "b\u0120": 1, "\"": 22}, "merges": ["a b", "\u0120 b", "c d"])"),
      model(R"("merges":[["a","b"],["b","c"],["d","e"]],"vocab":{"a":0,"é":1,"b":2})"),
      model("\"vocab\": [\n [\"a\", -1.5], [\"b\", 2],\n [\"c\", 1e5]\n]")};
  const std::string parts[] = {
      "\"",     "\\",   ",",    ":",    "[",          "]",         "{",
      "}",      " ",    "\n",   "0",    "-",          "1.5",       "e9",
      "a",      "\xC3", "\x01", "null", "\"a\": 1, ", "\"a b\", ", "[\"a\", 1], ",
      "\\ud800"};
  size_t read_count = 0;
  constexpr size_t kRounds = 20000;
  for (size_t round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    std::string text = sources[below(std::size(sources))];
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      const size_t at = below(text.size());
      if (below(2) == 0) text.erase(at, 1 + below(3));
      if (below(2) == 0 || text.empty()) {
        text.insert(std::min(at, text.size()), parts[below(std::size(parts))]);
      }
    }
    if (!read(text).starts_with("error")) ++read_count;
  }
  EXPECT_GT(read_count, kRounds / 50) << "seed " << kSeed;
  EXPECT_LT(read_count, kRounds / 2);
}

TEST(TableScanner, TakesWhatIsNext) {
  int32_t id = 0;
  std::string_view text;
  double number = 0;
  TableScanner scanner(R"( { "a" :5 , "\u0120\n\ud83d\ude00" : [ -0.25e1, {"]": "\"}"}], "b": 07)");
  ASSERT_TRUE(scanner.take('{') && scanner.take_text(text));
  EXPECT_EQ(text, "a");
  ASSERT_TRUE(scanner.take(':') && scanner.take_id(5, id));
  EXPECT_EQ(id, 5);
  ASSERT_TRUE(scanner.take(',') && scanner.take_text(text));
  EXPECT_EQ(text, "\u0120\n\U0001F600");
  ASSERT_TRUE(scanner.take(':') && scanner.is_next('['));
  ASSERT_TRUE(scanner.take('[') && scanner.take_number(number));
  EXPECT_EQ(number, -2.5);
  ASSERT_TRUE(scanner.take(',') && scanner.skip_value());
  ASSERT_TRUE(scanner.take(']') && scanner.take(',') && scanner.take_text(text));
  EXPECT_FALSE(scanner.take(','));
  EXPECT_TRUE(scanner.take(':'));
  EXPECT_EQ(scanner.left(), 3u);
  EXPECT_FALSE(scanner.take_id(10, id));
  EXPECT_FALSE(TableScanner("11").take_id(10, id));
  EXPECT_FALSE(TableScanner("1e999").take_number(number));
  EXPECT_FALSE(TableScanner("[1, 2").skip_value());
}

}  // namespace
}  // namespace pippin::tokenizers
