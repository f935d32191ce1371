#include "pippin/image/picture_resize.h"

#include <cmath>

#include <gtest/gtest.h>

namespace pippin {
namespace {

using Pixels = std::vector<uint8_t>;

Picture gray(int64_t width, int64_t height, Pixels pixels) {
  return {width, height, 1, std::move(pixels)};
}

TEST(PictureResize, ModesByBothNames) {
  EXPECT_EQ(parse_resize_mode("fit"), ResizeMode::Fit);
  EXPECT_EQ(parse_resize_mode("scaleFit"), ResizeMode::Fit);
  EXPECT_EQ(parse_resize_mode("fill"), ResizeMode::Fill);
  EXPECT_EQ(parse_resize_mode("centerCrop"), ResizeMode::Fill);
  EXPECT_EQ(parse_resize_mode("stretch"), ResizeMode::Stretch);
  EXPECT_EQ(parse_resize_mode("scaleFill"), ResizeMode::Stretch);
  EXPECT_EQ(parse_resize_mode("scalefill"), std::nullopt);
}

TEST(PictureResize, TheSameSizeIsTheSamePicture) {
  const Picture picture = {2, 2, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 250, 251, 252}};
  for (const ResizeMode mode : {ResizeMode::Fit, ResizeMode::Fill, ResizeMode::Stretch}) {
    EXPECT_EQ(resized(picture, 2, 2, mode).pixels, picture.pixels);
  }
}

TEST(PictureResize, PixelsAreMixed) {
  // Half the size: a triangle over four pixels, 1 3 3 1, truncated at the ends to 3 3 1.
  EXPECT_EQ(resized(gray(8, 1, {0, 0, 0, 80, 160, 0, 0, 0}), 4, 1, ResizeMode::Stretch).pixels,
            (Pixels{0, 50, 70, 0}));
  // Twice the size: weights of a quarter and three quarters.
  EXPECT_EQ(resized(gray(2, 1, {0, 100}), 4, 1, ResizeMode::Stretch).pixels,
            (Pixels{0, 25, 75, 100}));
  EXPECT_EQ(resized(gray(1, 2, {0, 100}), 1, 4, ResizeMode::Stretch).pixels,
            (Pixels{0, 25, 75, 100}));
}

TEST(PictureResize, FitHasBordersAndFillCuts) {
  const Picture wide = gray(4, 2, {10, 20, 30, 40, 50, 60, 70, 80});
  EXPECT_EQ(resized(wide, 4, 4, ResizeMode::Fit).pixels,
            (Pixels{0, 0, 0, 0, 10, 20, 30, 40, 50, 60, 70, 80, 0, 0, 0, 0}));
  EXPECT_EQ(resized(wide, 2, 2, ResizeMode::Fill).pixels, (Pixels{20, 30, 60, 70}));
  const Picture tall = gray(2, 4, {10, 20, 30, 40, 50, 60, 70, 80});
  EXPECT_EQ(resized(tall, 4, 4, ResizeMode::Fit).pixels,
            (Pixels{0, 10, 20, 0, 0, 30, 40, 0, 0, 50, 60, 0, 0, 70, 80, 0}));
  EXPECT_EQ(resized(tall, 2, 2, ResizeMode::Fill).pixels, (Pixels{30, 40, 50, 60}));
}

TEST(PictureResize, OddSizesKeepOneColor) {
  for (const int64_t width : {1, 3, 7, 50}) {
    for (const int64_t height : {1, 2, 31}) {
      const Picture picture = {13, 5, 3, Pixels(13 * 5 * 3, 200)};
      for (const ResizeMode mode : {ResizeMode::Fill, ResizeMode::Stretch}) {
        const Picture result = resized(picture, width, height, mode);
        EXPECT_EQ(result.pixels, Pixels(static_cast<size_t>(width * height * 3), 200));
      }
      EXPECT_EQ(resized(picture, width, height, ResizeMode::Fit).pixels.size(),
                static_cast<size_t>(width * height * 3));
    }
  }
}

}  // namespace
}  // namespace pippin
