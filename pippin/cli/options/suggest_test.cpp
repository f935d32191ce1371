#include "pippin/cli/options/suggest.h"

#include <gtest/gtest.h>

namespace pippin::cli {
namespace {

TEST(Suggest, TheNearestWord) {
  const std::vector<std::string> words = {"run", "serve", "chat", "convert", "compress", "pull"};
  EXPECT_EQ(nearest("rnu", words), "run");
  EXPECT_EQ(nearest("srve", words), "serve");
  EXPECT_EQ(nearest("conv", words), "convert");
  EXPECT_EQ(nearest("comprss", words), "compress");
  EXPECT_EQ(nearest("chatt", words), "chat");
  EXPECT_EQ(nearest("help", words), "");
  EXPECT_EQ(nearest("x", words), "");
  EXPECT_EQ(nearest("--", {"--help"}), "");
  EXPECT_EQ(nearest("--temprature", {"--temperature", "--top-p"}), "--temperature");
}

}  // namespace
}  // namespace pippin::cli
