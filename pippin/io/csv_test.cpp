#include "pippin/io/csv.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin {
namespace {

using Cells = std::vector<std::string>;

TEST(Csv, CellsAndQuotes) {
  const CsvTable table = parse_csv(
      "\xef\xbb\xbf"
      "a,\"b \"\"c\"\"\",d\r\n1,,\"x\ny,z\"\r\n\"\", 2 ,3\n\n",
      "t");
  EXPECT_EQ(table.columns, (Cells{"a", "b \"c\"", "d"}));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0], (Cells{"1", "", "x\ny,z"}));
  EXPECT_EQ(table.rows[1], (Cells{"", " 2 ", "3"}));
  EXPECT_EQ(parse_csv("a,b\n1,2", "t").rows, std::vector<Cells>{(Cells{"1", "2"})});
  EXPECT_TRUE(parse_csv("a\n", "t").rows.empty());
  for (const char* cell :
       {"", "plain", "a,b", "say \"x\"", "two\nlines", "cr\r", "\xef\xbb\xbf!"}) {
    for (const Cells& row : {Cells{cell}, Cells{"1", cell}}) {
      const std::string text = csv_line(row.size() == 1 ? Cells{cell} : Cells{cell, "b"});
      EXPECT_EQ(parse_csv(text + csv_line(row) + csv_line(row), "t").rows,
                (std::vector<Cells>{row, row}));
    }
  }
}

TEST(Csv, Faults) {
  const auto expect = [](std::string_view text, std::string_view words) {
    EXPECT_ERROR(parse_csv(text, "t.csv"), ErrorCode::InvalidFile, words);
  };
  expect("", "t.csv: no header line with the columns");
  expect("a,b\n1,2\n3\n", "t.csv: line 3 has 1 cells, the first has 2");
  expect("a,a\n", "t.csv: the column 'a' is repeated");
  expect("a\n\"x\ny", "t.csv: line 2: a quoted cell without a closing quote");
  expect("a\n\"x\"y\n", "t.csv: line 2: text after a quoted cell");
  expect("a\n\xff\n", "t.csv: not UTF-8");
  EXPECT_ERROR(parse_csv("a,b\n1,2\n", "t.csv", 3), ErrorCode::LimitExceeded, "more than 3 cells");
}

}  // namespace
}  // namespace pippin
