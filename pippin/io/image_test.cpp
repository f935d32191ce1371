#include "pippin/io/image.h"

#include <gtest/gtest.h>

#include "pippin/base/file.h"
#include "pippin/io/fault_test.h"

namespace pippin {
namespace {

// The files of fuzz/corpus/image: three columns, two rows.
std::string path_of(const std::string& name) {
  return std::string(PIPPIN_SOURCE_DIR) + "/fuzz/corpus/image/" + name;
}
Picture parse(const std::string& bytes) {
  return parse_picture(as_byte_span(bytes), "x");
}

const std::vector<uint8_t> kColors = {255, 0, 1, 2, 128, 3,  4,  5,  250,
                                      6,   7, 8, 9, 10,  11, 12, 13, 14};

TEST(Picture, ColorsOfEveryForm) {
  for (const char* name : {"rgb.png", "opaque.png", "interlaced.png", "color.ppm"}) {
    SCOPED_TRACE(name);
    const Picture picture = read_picture(path_of(name));
    EXPECT_EQ(picture.width, 3);
    EXPECT_EQ(picture.height, 2);
    EXPECT_EQ(picture.channels, 3);
    EXPECT_EQ(picture.pixels, kColors);
  }
}

TEST(Picture, Palettes) {
  const Picture picture = read_picture(path_of("palette.png"));
  EXPECT_EQ(picture.channels, 3);
  EXPECT_EQ(picture.pixels, (std::vector<uint8_t>{255, 0, 1, 2, 128, 3, 4, 5, 250,  //
                                                  4, 5, 250, 2, 128, 3, 255, 0, 1}));
}

TEST(Picture, Grays) {
  const std::vector<uint8_t> levels = {0, 255, 136, 17, 34, 51};  // 0 15 8 1 2 3 of 15
  for (const char* name : {"gray4.png", "gray.pgm"}) {
    const Picture picture = read_picture(path_of(name));
    EXPECT_EQ(picture.channels, 1);
    EXPECT_EQ(picture.pixels, levels) << name;
  }
}

TEST(Picture, WhatIsRefused) {
  EXPECT_FAULT(read_picture(path_of("transparent.png")),
               "transparent.png: the pixel in column 1, row 1 is transparent");
  EXPECT_FAULT(read_picture(path_of("deep.png")), "16 bits a channel, 8 are read");
  EXPECT_FAULT(parse("GIF89a"), "neither PNG nor binary PPM or PGM");
  EXPECT_FAULT(parse(""), "neither PNG");
  EXPECT_FAULT(parse("P6 2 2 65535\n"), "values up to 65535");
  EXPECT_FAULT(parse("P6 2 2 255\nabc"), "2 x 2 pixels need 12 bytes, the file has 3");
  EXPECT_FAULT(parse("P6 0 2 255\n"), "a picture of 0 x 2 pixels");
  EXPECT_FAULT(parse("P6 99999 99999 255\n"), "99999 x 99999 pixels, at most");
  EXPECT_FAULT(parse("P6 9999999999 2 255\n"), "expected a number below 10^9");
  EXPECT_FAULT(parse("P5 2 x"), "byte 5: expected a number");
  EXPECT_FAULT(parse("P5 2 2 255"), "expected a space");
}

TEST(Picture, DamageIsFound) {
  const std::string good = read_file(path_of("rgb.png"));
  for (size_t length = 0; length < good.size() - 12; ++length) {
    fault_of([&] { parse(good.substr(0, length)); });
  }
  std::string huge = good;
  huge[16] = huge[20] = '\x10';  // 2^28 pixels wide and high, and the header's checksum is wrong
  EXPECT_FAULT(parse(huge), "x: ");
}

}  // namespace
}  // namespace pippin
