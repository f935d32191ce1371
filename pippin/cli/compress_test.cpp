
#include <gtest/gtest.h>

#include "pippin/app/facts/report_json.h"
#include "pippin/base/testing.h"
#include "pippin/cli/options/compress_options.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

TEST(CompressionReport, SaysWhatItCost) {
  const TempDir scratch;
  app::ConvertOptions options;
  options.compression.quantize = "int4";
  options.compression.per = "block:32";
  const auto result =
      app::convert(source_dir() / "pippin/demo/model", scratch / "m.mlpackage", options);
  ASSERT_TRUE(result.compression);

  const Json parsed = Json::parse(app::to_json(result), "result").at("compression");
  ASSERT_GT(result.compression->compressed.size(), 0u);
  EXPECT_EQ(parsed.at("weights").size(), result.compression->compressed.size());
  EXPECT_EQ(parsed.at("kept").size(), result.compression->kept.size());
  EXPECT_EQ(parsed.get_float("bits_per_weight"), 4.5);
  EXPECT_NE(compression_lines(*result.compression).find("int4 per block of 32"), std::string::npos);
}

}  // namespace
}  // namespace pippin::cli
