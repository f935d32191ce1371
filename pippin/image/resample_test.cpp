#include "pippin/image/resample.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::image {
namespace {

constexpr int64_t kWidth = 7, kHeight = 5;

Picture gray_pattern() {
  Picture picture{kWidth, kHeight, 1, {}};
  for (int64_t y = 0; y < kHeight; ++y) {
    for (int64_t x = 0; x < kWidth; ++x) {
      picture.pixels.push_back(static_cast<uint8_t>((x * x * 37 + y * 91 + x * y * 13) % 256));
    }
  }
  return picture;
}

struct ResampleCase {
  Filter filter;
  Backend backend;
  Size size;
  std::vector<uint8_t> values;
};
// Printed by tests/image/resample_values.py.
const std::vector<ResampleCase> kResampleCases = {
    {Filter::Lanczos,
     Backend::Pil,
     {3, 4},
     {58, 95, 131, 122, 158, 147, 169, 147, 105, 170, 142, 101}},
    {Filter::Lanczos, Backend::Pil, {3, 9}, {40,  72,  81,  83,  128, 140, 118, 116, 136,
                                             124, 178, 170, 121, 152, 179, 176, 148, 133,
                                             60,  116, 180, 165, 135, 189, 111, 71,  141}},
    {Filter::Lanczos, Backend::Pil, {8, 5}, {0,   116, 74,  112, 83,  34,  77,  139, 128, 112,
                                             132, 61,  183, 153, 162, 222, 145, 85,  154, 186,
                                             157, 202, 114, 181, 127, 28,  185, 243, 199, 53,
                                             79,  157, 173, 123, 100, 161, 143, 80,  62,  159}},
    {Filter::Bilinear,
     Backend::Pil,
     {3, 4},
     {60, 100, 134, 121, 152, 142, 156, 145, 109, 154, 148, 108}},
    {Filter::Bilinear, Backend::Pil, {3, 9}, {39,  68,  85,  98,  133, 139, 126, 117, 124,
                                              125, 167, 160, 129, 138, 161, 161, 149, 134,
                                              69,  124, 157, 158, 139, 177, 115, 85,  144}},
    {Filter::Bilinear, Backend::Pil, {8, 5}, {12,  99,  90,  114, 87,  54,  85,  127, 129, 122,
                                              114, 75,  169, 149, 166, 173, 144, 119, 154, 162,
                                              153, 178, 135, 167, 132, 52,  176, 216, 189, 75,
                                              96,  159, 153, 131, 113, 138, 145, 98,  84,  148}},
    {Filter::Bicubic,
     Backend::Pil,
     {3, 4},
     {57, 98, 134, 121, 157, 143, 163, 147, 107, 161, 148, 104}},
    {Filter::Bicubic, Backend::Pil, {3, 9}, {38,  68,  83,  91,  131, 139, 124, 117, 129,
                                             125, 175, 166, 124, 144, 169, 168, 150, 133,
                                             64,  124, 167, 164, 137, 187, 110, 74,  144}},
    {Filter::Bicubic, Backend::Pil, {8, 5}, {0,   106, 82,  114, 81,  43,  81,  131, 129, 117,
                                             120, 66,  182, 151, 166, 198, 147, 100, 153, 174,
                                             162, 190, 120, 172, 132, 35,  182, 234, 197, 60,
                                             88,  160, 160, 126, 109, 147, 145, 87,  70,  157}},
    {Filter::Box, Backend::Pil, {3, 4}, {68, 111, 152, 122, 214, 104, 110, 174, 104, 161, 197, 98}},
    {Filter::Box, Backend::Pil, {3, 9}, {46,  89,  89,  79,  142, 152, 107, 107, 137,
                                         182, 245, 245, 126, 81,  110, 213, 213, 134,
                                         63,  145, 145, 174, 148, 197, 63,  63,  132}},
    {Filter::Box, Backend::Pil, {8, 5}, {0,   93,  77,  119, 52,  0,   93,  77,  119, 52,
                                         91,  75,  207, 140, 221, 182, 186, 81,  162, 134,
                                         182, 186, 81,  162, 134, 17,  168, 211, 183, 47,
                                         108, 151, 85,  77,  216, 108, 151, 85,  77,  216}},
    {Filter::Hamming,
     Backend::Pil,
     {3, 4},
     {52, 101, 130, 117, 171, 133, 143, 152, 109, 151, 157, 111}},
    {Filter::Hamming, Backend::Pil, {3, 9}, {34,  69,  83,  98,  126, 134, 125, 118, 116,
                                             145, 197, 177, 126, 118, 145, 165, 169, 134,
                                             74,  144, 157, 155, 132, 180, 100, 68,  152}},
    {Filter::Hamming, Backend::Pil, {8, 5}, {8,   104, 83,  110, 74,  41,  89,  122, 127, 114,
                                             102, 62,  192, 158, 187, 182, 157, 102, 151, 155,
                                             172, 175, 105, 157, 138, 34,  184, 216, 198, 62,
                                             93,  156, 136, 129, 134, 126, 140, 91,  90,  174}},
    {Filter::Lanczos,
     Backend::Torchvision,
     {3, 4},
     {58, 95, 131, 122, 158, 147, 169, 147, 105, 170, 142, 101}},
    {Filter::Lanczos, Backend::Torchvision, {3, 9}, {40,  72,  81,  83,  128, 140, 118, 116, 136,
                                                     124, 177, 170, 121, 152, 178, 176, 148, 133,
                                                     60,  116, 179, 165, 135, 189, 111, 71,  142}},
    {Filter::Lanczos, Backend::Torchvision, {8, 5}, {0,   116, 74,  112, 83,  34,  77,  139,
                                                     128, 112, 132, 61,  183, 153, 162, 222,
                                                     145, 85,  154, 186, 157, 202, 114, 181,
                                                     127, 28,  185, 243, 199, 53,  79,  157,
                                                     173, 124, 100, 161, 143, 80,  62,  159}},
    {Filter::Bilinear,
     Backend::Torchvision,
     {3, 4},
     {60, 100, 134, 121, 152, 142, 156, 145, 109, 154, 148, 108}},
    {Filter::Bilinear, Backend::Torchvision, {3, 9}, {39,  67,  84,  98,  133, 139, 126, 118, 124,
                                                      125, 167, 160, 129, 138, 161, 161, 149, 134,
                                                      69,  125, 158, 158, 139, 178, 114, 85,  144}},
    {Filter::Bilinear, Backend::Torchvision, {8, 5}, {12,  99,  90,  114, 87,  54,  85,  127,
                                                      129, 122, 114, 75,  169, 149, 166, 173,
                                                      144, 119, 154, 162, 153, 178, 135, 167,
                                                      132, 52,  176, 216, 189, 75,  96,  159,
                                                      153, 131, 113, 138, 145, 98,  84,  148}},
    {Filter::Bicubic,
     Backend::Torchvision,
     {3, 4},
     {57, 98, 134, 121, 157, 143, 163, 147, 107, 161, 148, 104}},
    {Filter::Bicubic, Backend::Torchvision, {3, 9}, {39,  68,  82,  91,  131, 140, 124, 117, 128,
                                                     125, 176, 167, 124, 144, 169, 169, 150, 133,
                                                     64,  124, 167, 164, 137, 187, 110, 74,  145}},
    {Filter::Bicubic, Backend::Torchvision, {8, 5}, {0,   106, 82,  114, 81,  43,  81,  131,
                                                     129, 117, 120, 66,  182, 151, 166, 198,
                                                     147, 100, 153, 174, 162, 190, 120, 172,
                                                     132, 35,  182, 234, 197, 60,  88,  160,
                                                     160, 126, 109, 147, 145, 87,  70,  157}},
};

TEST(Resample, EqualsTheFiltersOfBothLibraries) {
  for (const ResampleCase& item : kResampleCases) {
    const Picture result = resampled(gray_pattern(), item.size, item.filter, item.backend);
    EXPECT_EQ(result.pixels, item.values)
        << "filter " << static_cast<int>(item.filter) << " of backend "
        << static_cast<int>(item.backend) << " to " << item.size.width << " x " << item.size.height;
  }
}

// Gray and colors take different loops.
TEST(Resample, TreatsChannelsAlike) {
  const Picture gray = gray_pattern();
  Picture colors{kWidth, kHeight, 3, {}};
  for (const uint8_t value : gray.pixels) {
    colors.pixels.insert(colors.pixels.end(), {value, static_cast<uint8_t>(255 - value), value});
  }
  const Size size{6, 10};
  for (const Backend backend : {Backend::Pil, Backend::Torchvision}) {
    const Picture one = resampled(gray, size, Filter::Bilinear, backend);
    const Picture three = resampled(colors, size, Filter::Bilinear, backend);
    for (size_t i = 0; i < one.pixels.size(); ++i) {
      EXPECT_EQ(three.pixels[3 * i], one.pixels[i]);
      EXPECT_EQ(three.pixels[3 * i + 2], one.pixels[i]);
    }
  }
}

TEST(Resample, GivesPartsOfTheWhole) {
  const Size size{9, 12};
  const Box part{2, 3, {5, 4}};
  for (const Filter filter : {Filter::Bicubic, Filter::Nearest, Filter::Lanczos}) {
    for (const Backend backend : {Backend::Pil, Backend::Torchvision}) {
      const Picture whole = resampled(gray_pattern(), size, filter, backend);
      const Picture cut = resampled_part(gray_pattern(), size, part, filter, backend);
      ASSERT_EQ(cut.pixels.size(), 20u);
      for (size_t i = 0; i < cut.pixels.size(); ++i) {
        EXPECT_EQ(cut.pixels[i], whole.pixels[(2 + i / 4) * 12 + 3 + i % 4]);
      }
    }
  }
}

TEST(Resample, NearestTakesMiddles) {
  const Picture row{5, 1, 1, {10, 20, 30, 40, 50}};
  EXPECT_EQ(resampled(row, {1, 3}, Filter::Nearest, Backend::Pil).pixels,
            (std::vector<uint8_t>{10, 30, 50}));
  EXPECT_EQ(resampled(row, {1, 7}, Filter::Nearest, Backend::Torchvision).pixels,
            (std::vector<uint8_t>{10, 20, 20, 30, 40, 40, 50}));
}

// Floats are resized without rounding: the result of a ramp is a ramp.
TEST(Resample, KeepsFractionsOfFloats) {
  const FloatArray ramp{{1, 1, 4}, {0, 1, 2, 3}};
  const FloatArray half = resampled(ramp, {1, 2}, Filter::Bilinear);
  EXPECT_EQ(half.shape, (std::vector<int64_t>{1, 1, 2}));
  // Weights 1/8, 3/8, 3/8, 1/8 around the middle of two pixels, without those outside.
  EXPECT_NEAR(half.values[0], (0 * 3 + 1 * 3 + 2 * 1) / 7.0, 1e-6);
  EXPECT_NEAR(half.values[1], (1 * 1 + 2 * 3 + 3 * 3) / 7.0, 1e-6);
}

TEST(Resample, LimitsTheResult) {
  EXPECT_ERROR(resampled(gray_pattern(), {1 << 14, 1 << 14}, Filter::Bicubic, Backend::Pil),
               ErrorCode::LimitExceeded,
               "a picture is resized to 16384 x 16384 pixels (limit: 67108864 pixels)");
  EXPECT_ERROR(resampled(gray_pattern(), {0, 3}, Filter::Bicubic, Backend::Pil),
               ErrorCode::InvalidArgument, "resized to 3 x 0 pixels");
  EXPECT_ERROR(resampled(gray_pattern(), {3, 3}, Filter::Box, Backend::Torchvision),
               ErrorCode::Unsupported, "resample 4: torchvision has only 0 to 3");
}

}  // namespace
}  // namespace pippin::image
