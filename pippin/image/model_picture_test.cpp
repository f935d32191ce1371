#include "pippin/image/model_picture.h"

#include <array>

#include <gtest/gtest.h>
#include <zlib.h>

#include "pippin/base/base64.h"
#include "pippin/base/bytes.h"
#include "pippin/base/testing.h"
#include "pippin/image/orientation.h"
#include "pippin/image/picture_formats.h"
#include "pippin/image/png_chunks.h"
#include "pippin/image/resample.h"
#include "pippin/image/video.h"

namespace pippin::image {
namespace {

// Three columns, two rows; a transparent pixel in the second row.
constexpr const char* kWebp =
    "UklGRk4AAABXRUJQVlA4TEEAAAAvAkAAEC+gIG0DFndP8dS0bcB08mfbt2rbtmFcdv//qFM2Im2bwvlXe/bg/PqsiF3s"
    "fQWFbCPAqd1DdCQX0f+4VgA=";
// Two frames of (10, 20, 30) and (200, 100, 50).
constexpr const char* kAnimatedWebp =
    "UklGRogAAABXRUJQVlA4WAoAAAACAAAAAgAAAQAAQU5JTQYAAAAAAAAAAABBTk1GKgAAAAAAAAAAAAIAAAEAAGQAAAJW"
    "UDhMEQAAAC8CQAAAB1CKKtSj/4GI6H8AAEFOTUYqAAAAAAAAAAAAAgAAAQAAZAAAAFZQOEwRAAAALwJAAAAHULIiV6b/"
    "gYjofwAA";
// 8 x 8 pixels of the inks 255, 128, 0, 64.
constexpr const char* kCmykJpeg =
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwACAQEBAQECAQEBAgICAgIEAwICAgIFBAQDBAYFBgYGBQYGBgcJCAYHCQcGBggL"
    "CAkKCgoKCgYICwwLCgwJCgoK/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYH"
    "CAkKC//EALUQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBka"
    "JSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeo"
    "qaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4EQwBNAFkASwAAPwD+f+o6"
    "/fyvvyv/2Q==";
// Two frames of three columns and two rows; the second changes one row.
constexpr const char* kGif =
    "R0lGODlhAwACAIEAAP8AAQKAAwQF+gAAACH5BAAKAAAALAAAAAADAAIAAAgJAAEEECAgAICAACH5BAAKAAAALAAAAAAC"
    "AAEAgf8AAQKAAwQF+gAAAAgFAAUICAgAOw==";
// 16 x 16 pixels: the left half (20, 220, 60), the right half (200, 100, 50).
constexpr const char* kHeic =
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAa1tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAA"
    "AAAAAAAAAA5waXRtAAAAAAACAAAAEGlkYXQAAAAAABAAEAAAADhpbG9jAQAAAERAAAIAAQAAAAAAAAHRAAEAAAAAAAAA"
    "iAACAAEAAAAAAAAAAQAAAAAAAAAIAAAAOGlpbmYAAAAAAAIAAAAVaW5mZQIAAAEAAQAAaHZjMQAAAAAVaW5mZQIAAAAA"
    "AgAAZ3JpZAAAAADYaXBycAAAALZpcGNvAAAAdmh2Y0MBA3AAAAAAAAAAAAAe8AD8/fj4AAAPAyAAAQAYQAEMAf//A3AA"
    "AAMAkAAAAwAAAwAeugJAIQABACpCAQEDcAAAAwCQAAADAAADAB6gIIEFluqumubgQEDAgAAAAwCAAAADAIQiAAEABkQB"
    "wXPBiQAAABRpc3BlAAAAAAAAAEAAAABAAAAAFGlzcGUAAAAAAAAAEAAAABAAAAAQcGl4aQAAAAADCAgIAAAAGmlwbWEA"
    "AAAAAAAAAgABAoECAAICA4QAAAAaaXJlZgAAAAAAAAAOZGltZwACAAEAAQAAAJBtZGF0AAAAhCgBrwYyGphOgF1Dh5uV"
    "///8Hd//2tkEtXMbKSuaz5fmU/iaLBjLu/eZMh/qsQalqDCfQKgHdFwnsOGbBq8dNk6OhnWtUvz2r86aoILK/9LL/xjv"
    "GqBoXu+JhcJ+Y6lgxg1pOoCfguI1jLtMlCwd7NjaNvSZoM/2zp+eIkOjSsaZdTHvgA==";

std::string file_of(const char* base64) {
  const auto bytes = decode_base64(base64);
  return std::string(bytes->begin(), bytes->end());
}

Picture parse_file(const std::string& file) {
  return parse_model_picture(as_byte_span(file), "x");
}
std::vector<Picture> frames_of(const std::string& file) {
  return parse_model_frames(as_byte_span(file), "x");
}

using Bytes = std::vector<uint8_t>;

std::string big(uint32_t number) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift);
  return text;
}

std::string deflated(const std::string& text) {
  std::string result(compressBound(static_cast<uLong>(text.size())), '\0');
  uLongf size = static_cast<uLongf>(result.size());
  compress(reinterpret_cast<Bytef*>(result.data()), &size,
           reinterpret_cast<const Bytef*>(text.data()), static_cast<uLong>(text.size()));
  result.resize(size);
  return result;
}

struct PngParts {
  uint32_t width = 0, height = 0;
  char bits = 8, type = 2;
  std::string before;  // chunks before the pixels
  std::string rows;    // with a filter byte each
  std::string after;
};

std::string png_file(const PngParts& parts) {
  std::string file = "\x89PNG\r\n\x1a\n";
  std::string header = big(parts.width) + big(parts.height);
  header += {parts.bits, parts.type, '\0', '\0', '\0'};
  append_png_chunk(file, "IHDR", header);
  file += parts.before;
  append_png_chunk(file, "IDAT", deflated(parts.rows));
  file += parts.after;
  append_png_chunk(file, "IEND", "");
  return file;
}

std::string chunk(std::string_view type, const std::string& body) {
  std::string text;
  append_png_chunk(text, type, body);
  return text;
}

TEST(ModelPicture, KeepsTheHighByteOf16Bits) {
  using std::string_literals::operator""s;
  const Picture colors = parse_file(png_file({1, 1, 16, 2, "", "\0\x12\xff\x34\0\x56\x80"s, ""}));
  EXPECT_EQ(colors.channels, 3);
  EXPECT_EQ(colors.pixels, (Bytes{0x12, 0x34, 0x56}));
  const Picture gray = parse_file(png_file({2, 1, 16, 0, "", "\0\x12\xff\xfe\0"s, ""}));
  EXPECT_EQ(gray.channels, 1);
  EXPECT_EQ(gray.pixels, (Bytes{0x12, 0xfe}));
}

TEST(ModelPicture, GivesAlphaOfPalettesAndColors) {
  using std::string_literals::operator""s;
  const std::string palette = chunk("PLTE", "\x01\x02\x03\x0a\x0b\x0c"s);
  const Picture plain = parse_file(png_file({2, 1, 8, 3, palette, "\0\1\0"s, ""}));
  EXPECT_EQ(plain.channels, 3);
  EXPECT_EQ(plain.pixels, (Bytes{10, 11, 12, 1, 2, 3}));
  const Picture clear =
      parse_file(png_file({2, 1, 8, 3, palette + chunk("tRNS", "\x40"), "\0\1\0"s, ""}));
  EXPECT_EQ(clear.channels, 4);
  EXPECT_EQ(clear.pixels, (Bytes{10, 11, 12, 255, 1, 2, 3, 0x40}));
  const Picture gray = parse_file(png_file({1, 1, 8, 4, "", "\0\x77\x10"s, ""}));
  EXPECT_EQ(gray.pixels, (Bytes{0x77, 0x77, 0x77, 0x10}));
}

// Pillow ignores the gamma, and so were models trained.
TEST(ModelPicture, IgnoresGamma) {
  using std::string_literals::operator""s;
  const Picture picture =
      parse_file(png_file({1, 1, 8, 2, chunk("gAMA", big(100000)), "\0\x12\x34\x56"s, ""}));
  EXPECT_EQ(picture.pixels, (Bytes{0x12, 0x34, 0x56}));
}

TEST(ModelPicture, ConvertsInksLikePillow) {
  const Picture picture = parse_file(file_of(kCmykJpeg));
  ASSERT_EQ(picture.channels, 3);
  EXPECT_EQ(Bytes(picture.pixels.begin() + 81, picture.pixels.begin() + 84), (Bytes{0, 95, 191}));
}

TEST(ModelPicture, ReadsWebp) {
  const Picture picture = parse_file(file_of(kWebp));
  EXPECT_EQ(picture.channels, 4);
  EXPECT_EQ(picture.pixels, (Bytes{255, 0, 1, 255, 2, 128, 3,  255, 4,  5,  250, 255,
                                   6,   7, 8, 255, 9, 10,  11, 7,   12, 13, 14,  255}));
  const auto frames = frames_of(file_of(kAnimatedWebp));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(Bytes(frames[0].pixels.begin(), frames[0].pixels.begin() + 4),
            (Bytes{10, 20, 30, 255}));
  EXPECT_EQ(frames[1].pixels[0], 200);
  EXPECT_DOUBLE_EQ(frames[1].seconds, 0.1);
  EXPECT_EQ(parse_file(file_of(kAnimatedWebp)).pixels, frames[0].pixels);
}

TEST(ModelPicture, ReadsGif) {
  const auto frames = frames_of(file_of(kGif));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].channels, 3);
  EXPECT_EQ(frames[0].pixels, (Bytes{255, 0, 1, 2, 128, 3, 4, 5, 250,  //
                                     4, 5, 250, 2, 128, 3, 255, 0, 1}));
  EXPECT_EQ(frames[1].pixels, (Bytes{4, 5, 250, 4, 5, 250, 4, 5, 250,  //
                                     4, 5, 250, 2, 128, 3, 255, 0, 1}));
  EXPECT_EQ(parse_file(file_of(kGif)).pixels, frames[0].pixels);
  const Video video = parse_video(as_byte_span(file_of(kGif)), "x");
  EXPECT_EQ(video.frames.size(), 2u);
  EXPECT_DOUBLE_EQ(video.fps, 10);
  EXPECT_ERROR(parse_video(as_byte_span(file_of(kWebp)), "x"), ErrorCode::InvalidFile,
               "x: one picture, a video has several frames");
}

TEST(ModelPicture, ReadsHeic) {
  const Picture picture = parse_file(file_of(kHeic));
  EXPECT_EQ(picture.width, 16);
  EXPECT_EQ(picture.height, 16);
  ASSERT_EQ(picture.channels, 3);
  const std::array<int, 3> left = {20, 220, 60}, right = {200, 100, 50};
  for (size_t channel = 0; channel < 3; ++channel) {
    EXPECT_NEAR(picture.pixels[3 * (16 * 8 + 2) + channel], left[channel], 8);
    EXPECT_NEAR(picture.pixels[3 * (16 * 8 + 13) + channel], right[channel], 8);
  }
}

std::string frame_control(uint32_t number, Box box, char dispose, char blend) {
  std::string body = big(number) + big(static_cast<uint32_t>(box.size.width)) +
                     big(static_cast<uint32_t>(box.size.height)) +
                     big(static_cast<uint32_t>(box.left)) + big(static_cast<uint32_t>(box.top));
  body += {'\0', '\1', '\0', '\1', dispose, blend};
  return chunk("fcTL", body);
}

TEST(ModelPicture, DrawsFramesOfAnimatedPng) {
  using std::string_literals::operator""s;
  PngParts parts{2, 1, 8, 0, "", "\0\x10\x20"s, ""};
  parts.before = chunk("acTL", big(2) + big(0)) + frame_control(0, {0, 0, {1, 2}}, 0, 0);
  parts.after =
      frame_control(1, {0, 1, {1, 1}}, 0, 0) + chunk("fdAT", big(2) + deflated("\0\x77"s));
  const auto frames = frames_of(png_file(parts));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].pixels, (Bytes{16, 16, 16, 255, 32, 32, 32, 255}));
  EXPECT_DOUBLE_EQ(frames[0].seconds, 1);
  EXPECT_EQ(frames[1].pixels, (Bytes{16, 16, 16, 255, 0x77, 0x77, 0x77, 255}));
  // The still picture.
  EXPECT_EQ(parse_file(png_file(parts)).pixels, (Bytes{16, 32}));
  parts.after = frame_control(1, {0, 2, {1, 1}}, 0, 0) + chunk("fdAT", big(2));
  EXPECT_ERROR(frames_of(png_file(parts)), ErrorCode::InvalidFile,
               "x: a frame of 1 x 1 pixels at (2, 0) of 2 x 1");
}

std::string exif_of(char orientation) {
  using std::string_literals::operator""s;
  return "Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"s + orientation +
         "\0\0\0\0\0\0"s;
}

TEST(ModelPicture, TurnsPicturesUpright) {
  // a b
  // c d
  // e f
  const Picture picture{2, 3, 1, {'a', 'b', 'c', 'd', 'e', 'f'}};
  const std::array<const char*, 8> expected = {"abcdef", "badcfe", "fedcba", "efcdab",
                                               "acebdf", "ecafdb", "fdbeca", "bdface"};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Picture result = upright(picture, orientation);
    EXPECT_EQ(std::string(result.pixels.begin(), result.pixels.end()), expected[orientation - 1]);
    EXPECT_EQ(result.width, orientation < 5 ? 2 : 3);
  }
}

TEST(ModelPicture, ReadsOrientations) {
  using std::string_literals::operator""s;
  const std::string exif = exif_of(6);
  EXPECT_EQ(exif_orientation(as_byte_span(exif)), 6);
  // JPEG: as the first segment.
  Picture gray{8, 16, 1, Bytes(128, 90)};
  std::string jpeg = format_jpeg(gray);
  const std::string segment = "\xff\xe1"s + '\0' + static_cast<char>(exif.size() + 2) + exif;
  jpeg.insert(2, segment);
  EXPECT_EQ(jpeg_orientation(as_byte_span(jpeg)), 6);
  EXPECT_EQ(parse_file(jpeg).width, 16);
  EXPECT_EQ(parse_picture(as_byte_span(jpeg), "x").width, 8) << "predict ignores it";
  // PNG: without the prefix.
  PngParts parts{2, 1, 8, 0, chunk("eXIf", exif.substr(6)), "\0\x10\x20"s, ""};
  EXPECT_EQ(parse_file(png_file(parts)).height, 2);
  // WebP: a chunk after the pixels.
  std::string webp = file_of(kWebp);
  webp += "EXIF"s + static_cast<char>(exif.size()) + "\0\0\0"s + exif;
  EXPECT_EQ(webp_orientation(as_byte_span(webp)), 6);
  // Damaged metadata does not matter.
  for (size_t size = 0; size < exif.size() - 7; ++size) {
    EXPECT_EQ(exif_orientation(as_byte_span(std::string_view(exif).substr(0, size))), 1) << size;
  }
  EXPECT_EQ(exif_orientation(as_byte_span(exif_of(9))), 1);
}

TEST(ModelPicture, RejectsOtherFiles) {
  for (const char* text :
       {"", "hello", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "RIFF1234WAVE"}) {
    EXPECT_ERROR(parse_file(text), ErrorCode::InvalidFile,
                 "x: not a picture (supported: PNG, JPEG");
  }
}

TEST(ModelPicture, RejectsDamagedFiles) {
  using std::string_literals::operator""s;
  const std::string png = png_file({1, 1, 8, 2, "", "\0\x12\x34\x56"s, ""});
  for (const std::string& file : {png, file_of(kWebp), file_of(kGif), file_of(kHeic),
                                  file_of(kCmykJpeg), file_of(kAnimatedWebp)}) {
    // With 12 bytes the format is known.
    for (size_t size = 12; size < file.size() * 3 / 4; size += 7) {
      try {
        parse_file(file.substr(0, size));
        // The first frame can be complete.
        EXPECT_TRUE(file == file_of(kGif)) << size << " of " << file.size();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidFile) << error.what();
      }
    }
  }
}

// From the header, before memory for pixels is allocated.
TEST(ModelPicture, LimitsPixels) {
  EXPECT_ERROR(parse_file(png_file({60000, 60000, 8, 2, "", "x", ""})), ErrorCode::LimitExceeded,
               "x: 60000 x 60000 pixels, at most 134217728 are read");
  EXPECT_ERROR(parse_file(png_file({10000, 10000, 8, 2, "", "x", ""})), ErrorCode::InvalidFile,
               "x: 10000 x 10000 pixels from");
  std::string gif = file_of(kGif);
  gif.replace(6, 4, "\xff\xff\xff\xff");
  EXPECT_ERROR(parse_file(gif), ErrorCode::LimitExceeded, "x: 65535 x 65535 pixels");
  EXPECT_ERROR(parse_model_frames(as_byte_span(file_of(kGif)), "x", {20}), ErrorCode::LimitExceeded,
               "x: 4 frames of 3 x 2 pixels, at most 20 pixels");
  EXPECT_ERROR(parse_model_picture(as_byte_span(file_of(kHeic)), "x", {100}),
               ErrorCode::LimitExceeded, "x: 16 x 16 pixels");
  EXPECT_ERROR(parse_model_picture(as_byte_span(file_of(kWebp)), "x", {5}),
               ErrorCode::LimitExceeded, "x: 3 x 2 pixels");
}

}  // namespace
}  // namespace pippin::image
