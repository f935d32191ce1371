#include "pippin/api/rows.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::api {
namespace {

using Kind = FeatureInfo::Kind;
using Doubles = std::vector<double>;

FeatureInfo feature(std::string name, Kind kind, DataType type = DataType::Float64,
                    std::vector<int64_t> shape = {}) {
  FeatureInfo result;
  result.name = std::move(name);
  result.kind = kind;
  result.type = type;
  result.shape = std::move(shape);
  return result;
}

std::vector<FeatureInfo> inputs() {
  std::vector<FeatureInfo> result = {feature("number", Kind::Double),
                                     feature("count", Kind::Int64, DataType::Int64),
                                     feature("text", Kind::String, DataType::String),
                                     feature("words", Kind::Dictionary, DataType::String),
                                     feature("places", Kind::Dictionary, DataType::Int64),
                                     feature("x", Kind::MultiArray, DataType::Float64, {2, 2}),
                                     feature("picture", Kind::Image)};
  result[1].optional = true;
  return result;
}

Doubles numbers(const Values& row, const char* name) {
  return tensor_at(row, name).to_doubles();
}

TEST(Rows, ObjectsOfEveryKind) {
  const char* row =
      R"({"number": 0.5, "count": 9007199254740993, "text": "a", "words": {"b": 2, "a": 1},)"
      R"( "places": {"3": 4.5}, "x": [[1, NaN], [-Infinity, null]], "picture": [[[1, 2, 255]]]})";
  for (const RowsFormat format : {RowsFormat::Json, RowsFormat::JsonLines}) {
    const std::vector<Values> rows = parse_rows(row, format, "in", inputs());
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(numbers(rows[0], "number"), Doubles{0.5});
    EXPECT_EQ(tensor_at(rows[0], "count").data<int64_t>()[0], 9007199254740993);
    EXPECT_EQ(tensor_at(rows[0], "text").strings().at(0), "a");
    const auto& words = std::get<Dictionary>(rows[0].at("words"));
    EXPECT_EQ(words.keys.strings(), (std::vector<std::string>{"b", "a"}));
    EXPECT_EQ(words.values.to_doubles(), (Doubles{2, 1}));
    EXPECT_EQ(std::get<Dictionary>(rows[0].at("places")).keys.data<int64_t>()[0], 3);
    const Tensor& x = tensor_at(rows[0], "x");
    EXPECT_EQ(x.shape(), (std::vector<int64_t>{2, 2}));
    EXPECT_TRUE(std::isnan(x.to_doubles()[1]) && std::isnan(x.to_doubles()[3]));
    EXPECT_EQ(x.to_doubles()[2], -std::numeric_limits<double>::infinity());
    const auto& picture = std::get<Image>(rows[0].at("picture"));
    EXPECT_EQ(picture.channels, 3);
    EXPECT_EQ(picture.pixels.at(2), std::byte{255});
  }
  EXPECT_EQ(parse_rows("{}\n\n{\"number\": 1}\r\n", RowsFormat::JsonLines, "in", inputs()).size(),
            2u);
}

TEST(Rows, MissingValues) {
  const std::vector<Values> rows =
      parse_rows(R"([{"number": null, "count": null}, {}])", RowsFormat::Json, "in", inputs());
  EXPECT_TRUE(std::isnan(numbers(rows.at(0), "number").at(0)));
  EXPECT_FALSE(rows[0].contains("count"));
  EXPECT_TRUE(rows.at(1).empty());
  const Values cells = parse_rows("number,count,text\n,,\n", RowsFormat::Csv, "in", inputs()).at(0);
  EXPECT_TRUE(std::isnan(numbers(cells, "number").at(0)));
  EXPECT_FALSE(cells.contains("count"));
  EXPECT_EQ(tensor_at(cells, "text").strings().at(0), "");
}

TEST(Rows, Tables) {
  const std::vector<Values> rows = parse_rows(
      "text,x[3],x[0],x[1],x[2],words[a],words[b c],places\n"
      "\"one, two\",4,1,2,3,0.5,,\"{\"\"7\"\": 1}\"\n",
      RowsFormat::Csv, "t.csv", inputs());
  const Tensor& x = tensor_at(rows.at(0), "x");
  EXPECT_EQ(x.to_doubles(), (Doubles{1, 2, 3, 4}));
  EXPECT_EQ(x.shape(), (std::vector<int64_t>{2, 2}));
  const auto& words = std::get<Dictionary>(rows[0].at("words"));
  EXPECT_EQ(words.keys.strings(), std::vector<std::string>{"a"});
  EXPECT_EQ(std::get<Dictionary>(rows[0].at("places")).keys.data<int64_t>()[0], 7);
  EXPECT_EQ(tensor_at(rows[0], "text").strings().at(0), "one, two");
}

TEST(Rows, Faults) {
  const auto expect = [](const char* text, RowsFormat format, std::string_view words) {
    try {
      parse_rows(text, format, "in", inputs());
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string_view(error.what()).find(words), std::string_view::npos) << error.what();
    }
  };
  expect(R"([{"number": "x"}])", RowsFormat::Json, "expected a number");
  expect(R"([{"other": 1}])", RowsFormat::Json, "other: the model has no input of this name");
  expect(R"([{"places": {"a": 1}}])", RowsFormat::Json, "the key 'a' is not a whole number");
  expect(R"([{"x": [[1, 2], [3]]}])", RowsFormat::Json, "a list of 1 elements, the first has 2");
  expect(R"([{"x": [1, [2]]}])", RowsFormat::Json, "lists of different depths");
  expect(R"([{"picture": [[256]]}])", RowsFormat::Json, "a pixel of 256");
  expect(R"([{"picture": [1]}])", RowsFormat::Json, "a picture is a list");
  expect("{}\n{\"number\": {}}", RowsFormat::JsonLines, "in: line 2");
  expect("other\n1\n", RowsFormat::Csv, "the column 'other' is not an input of the model");
  expect("number\nx\n", RowsFormat::Csv,
         "in: row 0: column 'number': \"x\" is neither a number nor JSON");
  expect("x[0]\n1;2\n", RowsFormat::Csv, "column 'x[0]': \"1;2\" is neither a number nor JSON");
  expect("x\n\"[1, y]\"\n", RowsFormat::Csv, "column 'x': the cell: not valid JSON at byte 5");
  expect(("number\n" + std::string(50, 'a') + "\n").c_str(), RowsFormat::Csv, "aaaa...\" is");
  expect("x[0],x[2]\n1,2\n", RowsFormat::Csv, "a column for position '2', there are 2");
  expect("x,x[0]\n\"[[1,2],[3,4]]\",1\n", RowsFormat::Csv, "given as a whole and by element");
}

TEST(Rows, AreWritten) {
  const std::vector<FeatureInfo> outputs = {feature("label", Kind::String, DataType::String),
                                            feature("odds", Kind::Dictionary, DataType::Int64),
                                            feature("y", Kind::MultiArray, DataType::Float64, {2})};
  const auto row = [](const char* label, std::vector<int64_t> keys, Doubles odds, Doubles y) {
    const auto size = static_cast<int64_t>(keys.size());
    return Values{{"label", Tensor::from_strings({label}, {1})},
                  {"odds", Dictionary{Tensor::from(keys, {size}), Tensor::from(odds, {size})}},
                  {"y", Tensor::from(y, {2})}};
  };
  const std::vector<Values> rows = {
      row("a \"b\"", {1, -2}, {0.25, 0.75}, {1, 1e300}),
      row("c,d", {3}, {1}, {std::numeric_limits<double>::quiet_NaN(), -HUGE_VAL})};
  EXPECT_EQ(
      rows_text(RowsFormat::JsonLines, outputs, rows),
      "{\"label\": \"a \\\"b\\\"\", \"odds\": {\"1\": 0.25, \"-2\": 0.75}, \"y\": [1, 1e+300]}\n"
      "{\"label\": \"c,d\", \"odds\": {\"3\": 1}, \"y\": [NaN, -Infinity]}\n");
  EXPECT_EQ(rows_text(RowsFormat::Csv, outputs, rows),
            "label,odds[1],odds[-2],odds[3],y[0],y[1]\n"
            "\"a \"\"b\"\"\",0.25,0.75,,1,1e+300\n"
            "\"c,d\",,,1,NaN,-Infinity\n");
  EXPECT_EQ(rows_text(RowsFormat::Json, outputs, {}), "[]\n");
}

}  // namespace
}  // namespace pippin::api
