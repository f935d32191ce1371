#include "pippin/http/multipart.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/http/parameters.h"

namespace pippin::http {
namespace {

constexpr std::string_view kType = "multipart/form-data; boundary=XX";

std::string part_text(std::string_view headers, std::string_view content) {
  return fmt::format("--XX\r\n{}\r\n\r\n{}\r\n", headers, content);
}

std::string named(std::string_view parameters, std::string_view content = "c") {
  return part_text(fmt::format("Content-Disposition: form-data; {}", parameters), content) +
         "--XX--\r\n";
}

FormPart only(const std::string& body) {
  static std::string kept;  // the part is a view
  kept = body;
  const auto parts = parse_form(kType, kept);
  EXPECT_EQ(parts.size(), 1u);
  return parts.at(0);
}

void expect_invalid(const std::string& body, std::string_view message) {
  EXPECT_ERROR(parse_form(kType, body), ErrorCode::InvalidArgument, message);
}

TEST(Multipart, ReadsWhatCurlSends) {
  const std::string boundary = "------------------------d74496d66958873e";
  const std::string body = fmt::format(
      "--{0}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n"
      "--{0}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n"
      "Content-Type: audio/wave\r\n\r\nRIFF\r\n\r\n--{0}X?\r\n--{0}--\r\n",
      boundary);
  // A boundary in the content would end it.
  const std::string type = "multipart/form-data; boundary=" + boundary;
  EXPECT_ERROR(parse_form(type, body), ErrorCode::InvalidArgument,
               "part 3: its boundary is not followed by a line end");
  std::string valid = body;
  valid.replace(valid.find(boundary + "X?"), boundary.size(), "-------");
  const auto parts = parse_form(type, valid);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "model");
  EXPECT_EQ(parts[0].content, "whisper-1");
  EXPECT_FALSE(parts[0].file_name);
  EXPECT_EQ(parts[0].content_type, "");
  EXPECT_EQ(parts[1].name, "file");
  EXPECT_EQ(parts[1].file_name, "a.wav");
  EXPECT_EQ(parts[1].content_type, "audio/wave");
  EXPECT_TRUE(parts[1].content.starts_with("RIFF\r\n\r\n---------X?"));
}

TEST(Multipart, KeepsContentsAsTheyAre) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (const std::string& content :
       {std::string(), bytes, std::string("\r\n"), std::string("\r"), std::string("\r\n--X"),
        std::string("--XX"), std::string("-")}) {
    // "--XX" at the start of a content is a boundary: the line end before it ends the headers.
    if (content == "--XX") continue;
    EXPECT_EQ(only(named("name=\"a\"", content)).content, content);
  }
  // A part may end with its headers.
  EXPECT_EQ(only("--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n--XX--").content, "");
}

TEST(Multipart, ReadsNames) {
  EXPECT_EQ(only(named(R"(name=plain)")).name, "plain");
  EXPECT_EQ(only(named(R"(name="")")).name, "");
  EXPECT_EQ(only(named(R"(name="a;b")")).name, "a;b");
  EXPECT_EQ(only(named(R"(NAME="a\"b\\c")")).name, R"(a"b\c)");
  EXPECT_EQ(only(named(R"(name="a%22b%41")")).name, R"(a"b%41)");
  EXPECT_EQ(only(named("name=\"f\"; filename=\"\xC3\xA4.wav\"")).file_name, "\xC3\xA4.wav");
  EXPECT_EQ(only(named(R"(name="f"; filename="C:\dir\x.wav")")).file_name, R"(C:\dir\x.wav)");
  EXPECT_EQ(only(named(R"(name="f"; filename="")")).file_name, "");
  EXPECT_EQ(only(named(R"(name="f"; filename="x"; filename*=utf-8''na%C3%AFve.wav)")).file_name,
            "na\xC3\xAFve.wav");
}

TEST(Multipart, IgnoresTextAroundTheParts) {
  const auto parts =
      parse_form(kType,
                 "a preamble\r\n--XX \t\r\ncontent-disposition:form-data;name=a\r\n"
                 "X-Other: 1\r\nContent-Transfer-Encoding: 8bit\r\n\r\n1\r\n--XX--more");
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].content, "1");
  EXPECT_EQ(parse_form(kType, "--XX--").size(), 0u);
}

TEST(Multipart, RejectsBoundaries) {
  const auto expect = [](std::string_view type, std::string_view message) {
    EXPECT_ERROR(parse_form(type, "--a--"), ErrorCode::InvalidArgument, message);
  };
  expect("multipart/form-data", "the Content-Type has no boundary");
  expect("multipart/form-data; boundary=", "the Content-Type has no boundary");
  expect("multipart/form-data; boundary=\"a", "the Content-Type has no boundary");
  expect("multipart/form-data; boundary=a; boundary=a", "the Content-Type has no boundary");
  expect("multipart/form-data; boundary=\"a \"", "the boundary has 2 bytes");
  expect("multipart/form-data; boundary=\"a\r\nb\"", "the boundary has 4 bytes");
  expect("multipart/form-data; boundary=" + std::string(71, 'a'),
         "the boundary has 71 bytes (at most 70)");
  EXPECT_EQ(parse_form("Multipart/Form-Data; Boundary=\"a\"", "--a--").size(), 0u);
  EXPECT_EQ(parse_form("multipart/form-data; boundary=" + std::string(70, 'a'),
                       "--" + std::string(70, 'a') + "--")
                .size(),
            0u);
}

TEST(Multipart, RejectsMalformedBodies) {
  expect_invalid("", "the body (0 bytes) does not have the boundary --XX");
  expect_invalid("text --XX--", "the body (11 bytes) does not have the boundary --XX");
  expect_invalid("--XX", "part 1: its boundary is not followed by a line end");
  expect_invalid("--XX\nContent", "part 1: its boundary is not followed by a line end");
  expect_invalid("--XX\r\n", "part 1: no empty line (CR LF) ends the headers");
  expect_invalid("--XX\r\nContent-Disposition: form-data; name=a\n\nb\r\n--XX--",
                 "no empty line (CR LF)");
  expect_invalid("--XX\r\n\r\nb\r\n--XX--", "part 1: has no Content-Disposition");
  expect_invalid(part_text("Content-Disposition: form-data; name=a", "b"),
                 "part 1: the body ends without the boundary --XX");
  expect_invalid(part_text("Content-Disposition: form-data; name=a", "b") + "--XX\r\n\r\n--XX--",
                 "part 2: has no Content-Disposition");
  expect_invalid(part_text("nonsense", ""), "part 1: a header line is not of the form NAME: VALUE");
  expect_invalid(part_text("A: b\r\n folded", ""), "a header line is not of the form");
  expect_invalid(part_text("Content-Disposition: attachment; name=a", "") + "--XX--",
                 "is not form-data");
  expect_invalid(named("filename=a"), "the Content-Disposition has no name");
  expect_invalid(named("name=a; name=b"), "is not form-data with parameters");
  expect_invalid(named("name=\"a"), "is not form-data with parameters");
  expect_invalid(named("name=a b"), "is not form-data with parameters");
  expect_invalid(named("name=\"a\" b"), "is not form-data with parameters");
  expect_invalid(named("name"), "is not form-data with parameters");
  expect_invalid(named("name=\"\xff\""), "the name is not UTF-8 text");
  expect_invalid(named("name=\"a\tb\""), "the name is not UTF-8 text");
  expect_invalid(named("name=a; filename=\"a\x7f\""), "the file name is not UTF-8 text");
  expect_invalid(named("name=a; filename*=latin1''a"), "filename* is not of the form");
  expect_invalid(named("name=a; filename*=utf-8''%4"), "filename* has an invalid escape");
  expect_invalid(named("name=a; filename*=utf-8''%00"), "the file name is not UTF-8 text");
  expect_invalid(named("name=a\r\nContent-Disposition: form-data; name=b"),
                 "has two Content-Dispositions");
  expect_invalid(named("name=a\r\nContent-Transfer-Encoding: base64"),
                 "is not binary, 8bit or 7bit");
}

TEST(Multipart, HasLimits) {
  std::string body;
  for (int i = 0; i < 5; ++i) body += part_text("Content-Disposition: form-data; name=a", "b");
  body += "--XX--";
  EXPECT_EQ(parse_form(kType, body, {.max_parts = 5}).size(), 5u);
  EXPECT_ERROR(parse_form(kType, body, {.max_parts = 4}), ErrorCode::LimitExceeded,
               "multipart/form-data: more than 4 parts");
  EXPECT_EQ(parse_form(kType, body, {.max_header_bytes = 38}).size(), 5u);
  EXPECT_ERROR(parse_form(kType, body, {.max_header_bytes = 37}), ErrorCode::LimitExceeded,
               "part 1: more than 37 bytes of headers");
}

TEST(Multipart, RecognizesForms) {
  EXPECT_TRUE(is_form("multipart/form-data; boundary=a"));
  EXPECT_TRUE(is_form("Multipart/Form-Data;boundary=a"));
  EXPECT_TRUE(is_form("multipart/form-data"));
  EXPECT_FALSE(is_form("multipart/form-data2"));
  EXPECT_FALSE(is_form("application/json"));
  EXPECT_FALSE(is_form(""));
}

TEST(Parameters, FollowTheGrammar) {
  const auto parsed = parse_parameters(" Text/HTML ; A=b;c = \"d;\\\\e\" ;");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->value, "text/html");
  EXPECT_EQ(parsed->find("a"), "b");
  EXPECT_EQ(parsed->find("c"), "d;\\e");
  EXPECT_FALSE(parsed->find("d"));
  EXPECT_TRUE(parse_parameters("a"));
  for (const char* invalid :
       {"", ";", "a;b", "a;=b", "a;b=", "a;b=\"", "a;b=c d", "a;b=\"c\"d", "a;b c=d"}) {
    EXPECT_FALSE(parse_parameters(invalid)) << invalid;
  }
}

}  // namespace
}  // namespace pippin::http
