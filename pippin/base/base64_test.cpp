#include "pippin/base/base64.h"

#include <random>
#include <span>
#include <string>

#include <gtest/gtest.h>

namespace pippin {
namespace {

std::string encoded(const std::string& bytes) {
  return encode_base64(std::as_bytes(std::span(bytes)));
}

// Test vectors of RFC 4648, section 10.
TEST(Base64, VectorsOfTheStandard) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xff\xef\xbe"), "/+++");
}

TEST(Base64, ComesBack) {
  std::mt19937 random(1);
  for (size_t size = 0; size < 70; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(decode_base64(encoded(bytes)), bytes);
  }
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char* text : {"Z", "Zg=", "Zg", "Z===", "Zm9v*A==", "====", "Zm 9", "Zm9-"}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

TEST(Base64, OfDataUrls) {
  EXPECT_EQ(base64_of_data_url("data:image/png;base64,eA=="), "eA==");
  EXPECT_EQ(base64_of_data_url("data:;base64,"), "");
  for (const char* other : {"", "eA==", "data:", "data:;base64", "data:text/plain,x",
                            "http://h/;base64,x", "data:base64,x"}) {
    EXPECT_EQ(base64_of_data_url(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace pippin
