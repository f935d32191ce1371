#include "pippin/io/json.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/fault_test.h"

namespace pippin {
namespace {

Json config() {
  return Json::parse(R"({
    "hidden_size": "abc", "layers": 12, "eps": 1e-5, "tied": false, "name": "mia", "none": null,
    "big": 18446744073709551615, "half": 1.5, "minus": -3, "eos": [1, 2], "deep": {"a": [0, {"b": "x"}]}
  })",
                     "config.json");
}

TEST(Json, GettersGiveWhatIsThere) {
  const Json json = config();
  EXPECT_EQ(json.get_int("layers"), 12);
  EXPECT_EQ(json.get_float("eps"), 1e-5);
  EXPECT_EQ(json.get_float("layers"), 12.0);
  EXPECT_FALSE(json.get_bool("tied"));
  EXPECT_EQ(json.get_string("name"), "mia");
  EXPECT_EQ(json.get_ints("eos"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(json.at("big").as_uint64(), 18446744073709551615u);
  EXPECT_EQ(json.at("deep").at("a").at(size_t{1}).get_string("b"), "x");
  EXPECT_EQ(json.keys().front(), "hidden_size");
  EXPECT_EQ(json.members().size(), 11u);
}

TEST(Json, AbsenceIsAValue) {
  const Json json = config();
  EXPECT_TRUE(json.contains("none"));
  EXPECT_FALSE(json.has("none"));
  EXPECT_EQ(json.find_int("none"), std::nullopt);
  EXPECT_EQ(json.find_int("missing"), std::nullopt);
  EXPECT_EQ(json.get_int_or("none", 7), 7);
  EXPECT_EQ(json.get_string_or("name", "other"), "mia");
  EXPECT_EQ(json.get_bool_or("missing", true), true);
  EXPECT_FAULT(json.find_int("name"), "config.json: name: expected an integer, found \"mia\"");
}

TEST(Json, FaultsNameFilePlaceAndValue) {
  const Json json = config();
  EXPECT_FAULT(json.get_int("hidden_size"),
               "config.json: hidden_size: expected an integer, found \"abc\"");
  EXPECT_FAULT(json.get_int("half"), "half: expected an integer, found 1.5");
  EXPECT_FAULT(json.get_int("big"), "big: expected an integer, found 18446744073709551615");
  EXPECT_FAULT(json.at("minus").as_uint64(), "minus: expected an integer from 0 to");
  EXPECT_FAULT(json.get_int_between("layers", 1, 8), "expected an integer from 1 to 8, found 12");
  EXPECT_FAULT(json.get_int("missing"), "config.json: the key \"missing\" is missing");
  EXPECT_FAULT(json.get_bool("eos"), "eos: expected true or false, found an array of 2");
  EXPECT_FAULT(json.at("deep").at("a").at(size_t{1}).get_int("b"), "config.json: deep.a[1].b: ");
  EXPECT_FAULT(json.at("eos").at(size_t{2}), "config.json: eos: element 2 is needed, there are 2");
  EXPECT_FAULT(json.at("layers").at("x"), "layers: expected an object, found 12");
}

TEST(Json, IntegersOfAnyLengthKeepTheirDigits) {
  const std::string text = "[18446744073709551616,-9223372036854775809,-9223372036854775808]";
  const Json json = Json::parse(text, "x");
  EXPECT_EQ(json.dump(), text);
  EXPECT_EQ(json.at(size_t{0}).type(), Json::Type::Integer);
  EXPECT_EQ(json.at(size_t{0}).as_float(), 0x1p64);
  EXPECT_EQ(json.at(size_t{1}).as_float(), -0x1p63);
  EXPECT_EQ(json.at(size_t{2}).as_int(), INT64_MIN);
  EXPECT_FAULT(json.at(size_t{0}).as_uint64(),
               "[0]: expected an integer, found 18446744073709551616");
}

TEST(Json, PlacesOfMembersNeedNoMembers) {
  const Json json = config();
  EXPECT_EQ(json.where("missing"), "config.json: missing");
  EXPECT_EQ(json.at("deep").where("missing"), "config.json: deep.missing");
  EXPECT_FAULT(json.at("deep").at("a").invalid("too deep"), "config.json: deep.a: too deep");
}

TEST(Json, AHandleKeepsTheDocument) {
  const Json inner = Json::parse(R"({"a": {"b": "text"}})", "x").at("a").at("b");
  EXPECT_EQ(inner.as_string(), "text");
}

TEST(Json, OfEqualKeysTheLastCounts) {
  const Json json = Json::parse(R"({"a": 1, "b": 2, "a": 3, "a": 4})", "x");
  EXPECT_EQ(json.size(), 2u);
  EXPECT_EQ(json.get_int("a"), 4);
  EXPECT_EQ(json.dump(), R"({"a":4,"b":2})");
  JsonLimits strict;
  strict.unique_keys = true;
  EXPECT_FAULT(Json::parse(R"({"a": 1, "b": {"c": 1, "c": 2}})", "x", strict),
               "x: the key \"c\" occurs twice");
}

TEST(Json, ReadsPythonsNumbersWhereAsked) {
  const Json json = Json::parse(
      R"({"a": [0.0, Infinity], "b": -Infinity, "c": NaN, "d": "Infinity \"NaN",
          "e": {"__float__": "Infinity"}, "f": {"__float__": "x"}, "g": {"__float__": "NaN", "h": 1}})",
      "x", kPythonJson);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(json.get_floats("a"), (std::vector<double>{0.0, kInfinity}));
  EXPECT_EQ(json.get_float("b"), -kInfinity);
  EXPECT_TRUE(std::isnan(json.get_float("c")));
  EXPECT_EQ(json.get_string("d"), "Infinity \"NaN");
  EXPECT_EQ(json.get_float("e"), kInfinity);
  EXPECT_TRUE(json.at("f").is_object());
  EXPECT_TRUE(json.at("g").is_object());
  EXPECT_FAULT(Json::parse("[Infinityx]", "x", kPythonJson), "x: not valid JSON");
  EXPECT_FAULT(Json::parse("[Infinity]", "x"), "x: not valid JSON");
  EXPECT_TRUE(Json::parse(R"({"__float__": "NaN"})", "x").is_object());
}

TEST(Json, BrokenTextIsOneLine) {
  EXPECT_FAULT(
      Json::parse("{\"a\": 1,\n \"b\": }", "t.json"),
      "t.json: not valid JSON at byte 16 (line 2, column 7): syntax error while parsing value "
      "- unexpected '}'");
  EXPECT_FAULT(Json::parse("", "t.json"), "t.json: not valid JSON");
  EXPECT_FAULT(Json::parse("[1] 2", "t.json"), "not valid JSON");
  EXPECT_FAULT(Json::parse("[1e999]", "t.json"), "JSON");
  EXPECT_FAULT(Json::parse("\"\xff\xfe\"", "t.json"), "not valid JSON");
  EXPECT_FAULT(Json::parse("\"\\ud800\"", "t.json"), "not valid JSON");
  EXPECT_FAULT(Json::parse("{\"a\": \"" + std::string(100000, 'x'), "t.json"), "not valid JSON");
}

TEST(Json, DepthCountAndSizeAreLimited) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(Json::parse(nested(100), "x").dump(), nested(100));
  EXPECT_FAULT(Json::parse(nested(101), "x"), "x: JSON nested deeper than 100 levels");
  EXPECT_FAULT(Json::parse(std::string(10'000'000, '['), "x"), "nested deeper");
  EXPECT_FAULT(Json::parse(std::string(10'000'000, '{'), "x"), "not valid JSON");
  JsonLimits limits;
  limits.max_values = 3;
  EXPECT_FAULT(Json::parse("[1, 2, 3]", "x", limits), "x: more than 3 JSON values");
  limits.max_bytes = 4;
  EXPECT_FAULT(Json::parse("[1, 2]", "x", limits), "x: 6 bytes of JSON, at most 4");
}

TEST(Json, LargeObjectsAreFast) {
  std::string text = "{\"k\":0";
  for (int i = 0; i < 200000; ++i) text += ",\"" + std::to_string(i * 7919) + "\":1";
  const Json json = Json::parse(text + "}", "vocabulary");
  for (int i = 0; i < 200000; ++i) ASSERT_TRUE(json.contains(std::to_string(i * 7919)));
  EXPECT_FALSE(json.contains("1"));
}

TEST(Json, LoadNamesTheFile) {
  const TempDir dir;
  write_file(dir / "c.json", "{\"a\": 1.0}");
  EXPECT_FAULT(Json::load(dir / "c.json").get_int("a"),
               "c.json: a: expected an integer, found 1.0");
}

TEST(JsonWriter, WritesCompactAndIndented) {
  const auto build = [](int indent) {
    JsonWriter writer(indent);
    writer.begin_object().member("a", 1).member("b", "x\"\n\x01").member("c", 2.0);
    writer.member("shape", std::vector<int64_t>{1, 2}).key("empty").begin_array().end_array();
    writer.member("n", nullptr).member("t", true).member("u", uint64_t{1} << 63).end_object();
    return writer.text();
  };
  EXPECT_EQ(build(-1),
            R"({"a":1,"b":"x\"\n\u0001","c":2.0,"shape":[1,2],"empty":[],"n":null,"t":true,)"
            R"("u":9223372036854775808})");
  EXPECT_EQ(build(2).substr(0, 12), "{\n  \"a\": 1,\n");
  EXPECT_EQ(Json::parse(build(2), "x").dump(), build(-1));
}

TEST(JsonWriter, FloatsReadBackTheSame) {
  for (const double number : {0.1, 1e-5, 1e22, -2.5e-300, 100000.0, 1.0 / 3}) {
    JsonWriter writer;
    writer.value(number);
    const Json back = Json::parse(writer.text(), "x");
    EXPECT_EQ(back.type(), Json::Type::Float) << writer.text();
    EXPECT_EQ(back.as_float(), number);
  }
}

TEST(JsonWriter, BrokenUtf8BecomesReplacementCharacters) {
  JsonWriter writer;
  writer.value("a\xff\xc3\xa9");
  EXPECT_EQ(writer.text(), "\"a\xef\xbf\xbd\xc3\xa9\"");
}

TEST(Json, ReadsRealTokenizers) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "tokenizers");
  int files = 0;
  for (const auto& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      const Json json = Json::load(entry.path());
      const std::string text = json.dump();
      EXPECT_TRUE(Json::parse(text, "again").dump() == text) << entry.path();
      ++files;
    }
  }
  EXPECT_GT(files, 5);
}

}  // namespace
}  // namespace pippin
