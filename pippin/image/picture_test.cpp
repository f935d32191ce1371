#include "pippin/image/picture.h"

#include <array>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/fault_test.h"

namespace pippin {
namespace {

// The files in fuzz/corpus/image: three columns, two rows.
std::string path_of(const std::string& name) {
  return source_dir().string() + "/fuzz/corpus/image/" + name;
}
Picture parse(const std::string& bytes) {
  return parse_picture(as_byte_span(bytes), "x");
}

const std::vector<uint8_t> kColors = {255, 0, 1, 2, 128, 3,  4,  5,  250,
                                      6,   7, 8, 9, 10,  11, 12, 13, 14};

TEST(Picture, ColorsOfEveryForm) {
  for (const char* name :
       {"rgb.png", "opaque.png", "interlaced.png", "color.ppm", "bits24.bmp", "from_top.bmp",
        "core.bmp", "bits32.bmp", "opaque.bmp", "palette8.bmp", "palette4.bmp"}) {
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

TEST(Picture, BitmapsOfOneAndSixteenBits) {
  const Picture gray = read_picture(path_of("gray1.bmp"));
  EXPECT_EQ(gray.channels, 1);
  EXPECT_EQ(gray.pixels, (std::vector<uint8_t>{0, 255, 0, 255, 0, 255}));
  // 5, 6 and 5 bits of kColors, scaled up: 250 >> 3 is 31, the maximum.
  const Picture packed = read_picture(path_of("bits565.bmp"));
  EXPECT_EQ(packed.pixels,
            (std::vector<uint8_t>{255, 0, 0, 0, 130, 0, 0, 4, 255, 0, 4, 8, 8, 8, 8, 8, 12, 8}));
}

// 16 columns of one color and 16 of another, within JPEG's loss.
TEST(Picture, Jpeg) {
  for (const char* name : {"color.jpg", "progressive.jpg", "turned.jpg"}) {
    SCOPED_TRACE(name);
    const Picture picture = read_picture(path_of(name));
    ASSERT_EQ(picture.width, 32);
    ASSERT_EQ(picture.height, 16);
    ASSERT_EQ(picture.channels, 3);
    ASSERT_EQ(picture.pixels.size(), 32u * 16 * 3);
    for (size_t i = 0; i < picture.pixels.size(); ++i) {
      const size_t column = i / 3 % 32;
      if (column == 15 || column == 16) continue;  // where subsampled colors mix
      const int expected = (column < 16 ? std::array{250, 20, 30} : std::array{20, 200, 90})[i % 3];
      ASSERT_NEAR(picture.pixels[i], expected, 3) << i;
    }
  }
  const Picture gray = read_picture(path_of("gray.jpg"));
  EXPECT_EQ(gray.channels, 1);
  EXPECT_NEAR(gray.pixels.front(), 90, 1);
  EXPECT_NEAR(gray.pixels.back(), 134, 1);
}

TEST(Picture, DamagedJpegs) {
  for (const char* name : {"color.jpg", "progressive.jpg", "gray.jpg"}) {
    const std::string good = read_file(path_of(name));
    for (size_t length = 0; length < good.size() - 2; ++length) {
      SCOPED_TRACE(std::string(name) + " of " + std::to_string(length));
      fault_of([&] { parse(good.substr(0, length)); });
    }
  }
  EXPECT_FAULT(parse(read_file(path_of("color.jpg")).substr(0, 400)), "x: ");
  EXPECT_FAULT(read_picture(path_of("cmyk.jpg")), "the colors are CMYK, gray and RGB are read");
  // A size that is impossible for the data.
  std::string huge = read_file(path_of("color.jpg"));
  const size_t frame = huge.find("\xff\xc0");
  ASSERT_NE(frame, huge.npos);
  huge[frame + 5] = huge[frame + 7] = '\x20';
  EXPECT_FAULT(parse(huge), "pixels from ");
  huge[frame + 5] = huge[frame + 7] = '\x7f';
  EXPECT_FAULT(parse(huge), "pixels, at most");
}

TEST(Picture, DamagedBitmaps) {
  const std::string good = read_file(path_of("bits24.bmp"));
  for (size_t length = 0; length < good.size(); ++length) {
    fault_of([&] { parse(good.substr(0, length)); });
  }
  const auto with = [&](size_t at, const std::string& bytes) {
    std::string changed = good;
    changed.replace(at, bytes.size(), bytes);
    return changed;
  };
  EXPECT_FAULT(read_picture(path_of("runs.bmp")), "compressed pixels (kind 1)");
  EXPECT_FAULT(read_picture(path_of("transparent.bmp")),
               "the pixel in column 0, row 0 is transparent");
  EXPECT_FAULT(parse(with(14, "\x20")), "a header of 32 bytes");
  EXPECT_FAULT(parse(with(18, std::string("\xff\xff\xff\x7f"))), "pixels, at most");
  EXPECT_FAULT(parse(with(18, std::string("\x00\x01", 2))), "need 1536 bytes, the file has 78");
  EXPECT_FAULT(parse(with(22, std::string("\x00\x00\x00\x80", 4))), "pixels, at most");
  EXPECT_FAULT(parse(with(28, "\x07")), "7 bits a pixel");
  EXPECT_FAULT(parse(with(10, "\xff\xff\xff\xff")), "pixels at byte 4294967295");
  std::string palette = read_file(path_of("palette8.bmp"));
  palette.back() = palette[palette.size() - 4] = '\x06';
  EXPECT_FAULT(parse(palette), "has color 6 of 6");
  std::string mask = read_file(path_of("bits565.bmp"));
  mask[54] = '\x01';
  EXPECT_FAULT(parse(mask), "a mask of 0x0000f801 has gaps");
}

TEST(Picture, WhatIsRefused) {
  EXPECT_FAULT(read_picture(path_of("transparent.png")),
               "transparent.png: the pixel in column 1, row 1 is transparent");
  EXPECT_FAULT(read_picture(path_of("deep.png")), "16 bits a channel, 8 are read");
  EXPECT_FAULT(parse("GIF89a"), "neither PNG, JPEG, BMP nor binary PPM or PGM");
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

TEST(Picture, IsWrittenInTheFormOfItsName) {
  const TempDir dir;
  const Picture colors = {3, 2, 3, kColors};
  const Picture gray = {3, 2, 1, {0, 50, 255, 7, 8, 9}};
  for (const char* name : {"a.png", "A.PNG", "a.bmp", "a.ppm"}) {
    write_picture(dir / name, colors);
    EXPECT_EQ(read_picture(dir / name).pixels, kColors) << name;
    EXPECT_EQ(read_picture(dir / name).width, 3);
  }
  for (const char* name : {"g.png", "g.pgm"}) {
    write_picture(dir / name, gray);
    EXPECT_EQ(read_picture(dir / name).pixels, gray.pixels) << name;
    EXPECT_EQ(read_picture(dir / name).channels, 1);
  }
  write_picture(dir / "g.ppm", gray);
  EXPECT_EQ(read_picture(dir / "g.ppm").pixels,
            (std::vector<uint8_t>{0, 0, 0, 50, 50, 50, 255, 255, 255, 7, 7, 7, 8, 8, 8, 9, 9, 9}));
  write_picture(dir / "a.jpg", {16, 16, 3, std::vector<uint8_t>(16 * 16 * 3, 100)});
  EXPECT_TRUE(read_file(dir / "a.jpg").starts_with("\xff\xd8\xff"));
  for (const uint8_t value : read_picture(dir / "a.jpg").pixels) EXPECT_NEAR(value, 100, 2);
  EXPECT_ERROR(write_picture(dir / "c.pgm", colors), ErrorCode::InvalidArgument,
               "c.pgm: a PGM holds gray pictures");
  EXPECT_ERROR(write_picture(dir / "c.gif", colors), ErrorCode::InvalidArgument,
               "c.gif: not the name of a picture");
  EXPECT_FALSE(std::filesystem::exists(dir / "c.pgm"));
}

}  // namespace
}  // namespace pippin
