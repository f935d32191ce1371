#include "pippin/app/convert/compress.h"

#include <gtest/gtest.h>

#include "pippin/app/convert/compress_options.h"
#include "pippin/app/convert/convert.h"
#include "pippin/app/convert/package_output.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/package_size.h"

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

TEST(Compress, SizesOfPackagesAreKnownBeforehand) {
  TempDir scratch;
  const fs::path plain = scratch / "plain.mlpackage", small = scratch / "small.mlpackage";
  convert(demo_model_folder(), plain);
  const auto extra_files = mil::read_extra_files(plain);
  EXPECT_EQ(mil::package_bytes(read_to_rewrite(plain), extra_files), folder_bytes(plain));
  // Palettes of 2 bits for all channels have 4 entries, which are stored in the program.
  for (const char* scheme : {"int4", "uint4:asymmetric:block:64", "lut2", "lut3:16", "int8"}) {
    mil::Model model = read_to_rewrite(plain);
    compress::Recipe recipe;
    recipe.scheme = compress::parse_scheme(scheme);
    recipe.only = {"*layers_0_*"};
    compress::compress(model, recipe);
    const uint64_t expected = mil::package_bytes(model, extra_files);
    mil::WriteOptions write;
    write.extra_files = extra_files;
    mil::write_package(model, small, write);
    EXPECT_EQ(expected, folder_bytes(small)) << scheme;
  }
}

TEST(CompressOptions, MixedFormsHaveOneBudget) {
  const auto refused = [](auto change, const char* message) {
    CompressOptions changed;
    changed.calibrate = "text";
    changed.target_size = 1000;
    change(changed);
    EXPECT_ERROR(recipe_of(changed), ErrorCode::InvalidArgument, message);
  };
  CompressOptions options;
  options.calibrate = "text";
  options.target_size = 1000;
  ASSERT_TRUE(recipe_of(options));
  EXPECT_TRUE(recipe_of(options)->scheme.is_none());
  refused([](auto& o) { o.mixed = 4; }, "--mixed and --target-size exclude each other");
  refused([](auto& o) { o.calibrate = ""; }, "--target-size needs a text to measure on");
  refused([](auto& o) { o.calibrate = "/"; }, "--target-size measures on a text: --calibrate FILE");
  refused([](auto& o) { o.quantize = "int4"; }, "--target-size chooses forms itself");
  refused([](auto& o) { o.n_m_ratio = "2:4"; }, "--target-size chooses forms itself");
  refused([](auto& o) { o.lut_head = "4"; }, "--target-size chooses forms itself");
  const auto mixed_refused = [&](double bits, const char* message) {
    refused([&](auto& o) { o.target_size.reset(), o.mixed = bits; }, message);
  };
  mixed_refused(9, "--mixed 9: forms have 2 to 8 bits");
  mixed_refused(0, "--mixed 0: forms have 2 to 8 bits");
  refused([](auto& o) { o.target_size.reset(), o.mixed = 0, o.quantize = "int4"; },
          "--mixed chooses forms itself");
  refused([](auto& o) { o.target_size = 0; }, "--target-size 0: a package has 1 byte or more");
}

}  // namespace
}  // namespace pippin::app
