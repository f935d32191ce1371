#include "pippin/app/convert/compress.h"

#include <gtest/gtest.h>

#include "pippin/app/convert/compress_options.h"
#include "pippin/app/convert/convert.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

TEST(CompressOptions, BecomeARecipe) {
  CompressOptions options;
  EXPECT_FALSE(recipe_of(options));
  options.quantize = "int4";
  options.tensors = {"*=x=int8"};
  const auto recipe = recipe_of(options);
  ASSERT_TRUE(recipe);
  EXPECT_EQ(recipe->scheme, compress::parse_scheme("int4"));
  EXPECT_EQ(recipe->tensors.at(0).first, "*=x");
  options.per = "block:64";
  options.asymmetric = true;
  EXPECT_EQ(recipe_of(options)->scheme, compress::parse_scheme("int4:asymmetric:block:64"));
  const auto refused = [](auto change, const char* message) {
    CompressOptions changed;
    change(changed);
    EXPECT_ERROR(recipe_of(changed), ErrorCode::InvalidArgument, message);
  };
  refused([](auto& o) { o.quantize = "int5"; },
          "'int5': unknown part 'int5'; a scheme is "
          "none, int4, ");
  refused([](auto& o) { o.quantize = "lut4"; }, "--quantize is int4, uint4, int8 or uint8");
  refused([](auto& o) { o.quantize = "int4", o.palettize = 4; },
          "--quantize and --palettize exclude each other");
  refused([](auto& o) { o.quantize = "int4", o.per = "block:0"; },
          "'int4:block:0': a block is a number of inputs, or CHANNELSxINPUTS");
  refused([](auto& o) { o.palettize = 5; }, "'lut5': palettes have 1, 2, 3, 4, 6 or 8 bits");
  refused([](auto& o) { o.palettize = 4, o.per = "channel"; },
          "--per, --block-size, --symmetric and --asymmetric need --quantize");
  refused([](auto& o) { o.group = 4; }, "--group needs --palettize");
  refused([](auto& o) { o.prune = 1; }, "--prune is a share between 0 and 1");
  refused([](auto& o) { o.only = {"*"}; },
          "--only and --except choose among weights to compress: say how with --quantize");
  refused([](auto& o) { o.tensors = {"int8"}; }, "--tensor int8: not of the form PATTERN=SCHEME");
  refused([](auto& o) { o.lut_ffn = "4,"; }, "'4,': a palette is none, BITS or BITS,GROUP");
}

TEST(Compress, SaysWhatItCost) {
  const fs::path folder = demo_model_folder();
  TempDir scratch;
  const fs::path plain = scratch / "plain.mlpackage", small = scratch / "small.mlpackage";
  convert(folder, plain);
  CompressPackageOptions options;
  options.compression.quantize = "int4";
  options.compression.per = "block:128";
  const CompressResult result = compress_package(plain, small, options);
  const CompressionTotals totals = totals_of(result.compression);
  // 4 bits and an fp16 scale for 128 elements.
  EXPECT_EQ(totals.bytes_after * 8, static_cast<uint64_t>(totals.elements) * 33 / 8);
  EXPECT_GT(totals.squared_error, 0);
  EXPECT_LT(totals.squared_error, 0.012 * totals.energy);
  // Rows of 192 elements have no blocks of 128; those of 512 have.
  ASSERT_EQ(result.compression.kept.size(), 37u);
  EXPECT_NE(result.compression.kept[0].reason.find("not a multiple of 128"), std::string::npos);
  // Compressing directly from the checkpoint gives the same.
  const fs::path direct = scratch / "direct.mlpackage";
  ASSERT_TRUE(convert(folder, direct, {.compression = options.compression}).compression);
  const char* weights = "Data/com.apple.CoreML/weights/weight.bin";
  EXPECT_TRUE(read_file(direct / weights) == read_file(small / weights));

  EXPECT_ERROR(check_compress_options({}), ErrorCode::InvalidArgument,
               "say how to compress: --quantize, --palettize");
  // Nothing is written if the recipe is invalid.
  options.compression.except = {"no_such_*"};
  const fs::path absent = scratch / "absent.mlpackage";
  EXPECT_ERROR(compress_package(plain, absent, options), ErrorCode::InvalidArgument,
               "the pattern 'no_such_*' matches no weight");
  EXPECT_FALSE(fs::exists(absent));
}

}  // namespace
}  // namespace pippin::app
