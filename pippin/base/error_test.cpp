#include "pippin/base/error.h"

#include <gtest/gtest.h>

namespace pippin {
namespace {

TEST(Error, AMessageIsOneLineWhateverTheNamesInIt) {
  try {
    fail(ErrorCode::NotFound, "no tensor {}", std::string("a\nb\x1b[2J\0c", 9));
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no tensor a b [2J c");
  }
}

TEST(Error, CarriesCodeAndNumbers) {
  try {
    fail(ErrorCode::InvalidFile, "{}: needs {} bytes, the file has {}", "weight.bin", 16, 8);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidFile);
    EXPECT_STREQ(error.what(), "weight.bin: needs 16 bytes, the file has 8");
  }
}

TEST(Error, ContextGoesInFrontAndKeepsTheCode) {
  try {
    with_context("model.safetensors", [] { fail(ErrorCode::Io, "read failed"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    EXPECT_STREQ(error.what(), "model.safetensors: read failed");
  }
}

TEST(Error, ContextPassesTheResultOn) {
  EXPECT_EQ(with_context("anything", [] { return 7; }), 7);
}

}  // namespace
}  // namespace pippin
