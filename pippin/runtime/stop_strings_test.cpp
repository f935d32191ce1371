#include "pippin/runtime/stop_strings.h"

#include <gtest/gtest.h>

namespace pippin::runtime {
namespace {

TEST(StopStrings, EndBeforeTheFirstAndSpanPieces) {
  const std::string text = "one <|e and <|end|> two STOP";
  for (size_t size = 1; size <= text.size(); ++size) {
    StopStrings stop({"STOP", "<|end|>", ""});
    std::string out;
    for (size_t i = 0; i < text.size(); i += size) {
      out += stop.push(std::string_view(text).substr(i, size));
    }
    out += stop.finish();
    EXPECT_EQ(out, "one <|e and ") << size;
    EXPECT_EQ(stop.which(), "<|end|>");
  }
}

TEST(StopStrings, WhatOnlyBeganOneComesAtTheEnd) {
  StopStrings stop({"aab"});
  EXPECT_EQ(stop.push("xaa"), "x");
  EXPECT_EQ(stop.push("a"), "a");
  EXPECT_EQ(stop.finish(), "aa");
  EXPECT_FALSE(stop.found());
}

TEST(StopStrings, NoneHoldsNothingBack) {
  StopStrings stop({});
  EXPECT_EQ(stop.push("text"), "text");
  EXPECT_EQ(stop.finish(), "");
}

}  // namespace
}  // namespace pippin::runtime
