#include "pippin/model_output/json_scanner.h"

#include <random>

#include <gtest/gtest.h>

#include "pippin/base/exception.h"
#include "pippin/io/json.h"

namespace pippin::model_output {
namespace {

using Status = JsonScanner::Status;

struct Scanned {
  Status status;
  std::string json;
  size_t end;
};

Scanned scan(std::string_view text, size_t size) {
  JsonScanner scanner;
  Scanned result{Status::More, {}, 0};
  for (size_t begin = 0; begin < text.size() && result.status == Status::More; begin += size) {
    size_t at = 0;
    const std::string_view piece = text.substr(begin, size);
    result.status = scanner.push(piece, at, result.json);
    result.end += at;
  }
  return result;
}

TEST(JsonScanner, FindsTheEnd) {
  const auto check = [](std::string_view text, std::string_view json, size_t end) {
    for (const size_t size : {size_t{1}, size_t{2}, text.size()}) {
      const Scanned scanned = scan(text, size);
      EXPECT_EQ(scanned.status, Status::Done) << text;
      EXPECT_EQ(scanned.json, json) << text;
      EXPECT_EQ(scanned.end, end) << text;
    }
  };
  check(R"({"a": [1, {"b": "}"}]}, more)", R"({"a": [1, {"b": "}"}]})", 22);
  check(" \n[] ]", "[]", 4);
  check(R"("x\"y" z)", R"("x\"y")", 6);
  check("{}", "{}", 2);
  check("-1.5e3,", "-1.5e3", 6);
}

TEST(JsonScanner, MendsWhatIsClear) {
  EXPECT_EQ(scan("[True, False, None]", 3).json, "[true, false, null]");
  EXPECT_EQ(scan("{\"a\": \"x\ny\tz\x01\"}", 4).json, R"({"a": "x\ny\tz\u0001"})");
  EXPECT_EQ(scan(R"(["\d+\.\w", "it\'s"])", 5).json, R"(["\\d+\\.\\w", "it's"])");
}

TEST(JsonScanner, RefusesOthers) {
  for (const char* text : {"{a: 1}", "{\"a\" 1}", "[1 2]", "[1,}", "}", "[01]", "[1.]", "[tru]",
                           "{\"a\": 1,, }", "['x']", "[\"\\u12x4\"]", "[-]", "{\"a\": 1]"}) {
    EXPECT_EQ(scan(text, 1).status, Status::Broken) << text;
  }
  EXPECT_EQ(scan(std::string(200, '['), 7).status, Status::Broken);
  EXPECT_EQ(scan("{\"a\": ", 1).status, Status::More);
}

// For any text, a Done result is valid JSON.
TEST(JsonScanner, GivesJson) {
  std::mt19937 random(1);
  constexpr std::string_view kBytes = "{}[]\",:\\u01aeE+-.trulfsn \n";
  int done = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text(1, "{[\"1"[random() % 4]);
    for (size_t n = random() % 14; n-- > 0;) text += kBytes[random() % kBytes.size()];
    const Scanned scanned = scan(text, 1 + random() % 4);
    if (scanned.status != Status::Done) continue;
    ++done;
    try {
      Json::parse(scanned.json, "text");
    } catch (const Error& error) {
      // Only unpaired surrogates are valid JSON but not UTF-8.
      EXPECT_NE(scanned.json.find("\\u"), std::string::npos) << text << ": " << error.what();
    }
  }
  EXPECT_GT(done, 1000);
}

}  // namespace
}  // namespace pippin::model_output
