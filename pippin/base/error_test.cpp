#include "pippin/base/error.h"

#include <gtest/gtest.h>

#include "pippin/base/error_testing.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

TEST(Error, AMessageIsOneLineWhateverTheNamesInIt) {
  EXPECT_EQ(thrown_fault([] {
              fail(ErrorCode::NotFound, "no tensor {}", std::string("a\nb\x1b[2J\0c", 9));
            }),
            "not found: no tensor a b [2J c");
}

TEST(Error, CarriesCodeAndNumbers) {
  EXPECT_ERROR(fail(ErrorCode::InvalidFile, "{}: needs {} bytes, it has {}", "weight.bin", 16, 8),
               ErrorCode::InvalidFile, "weight.bin: needs 16 bytes, it has 8");
}

TEST(Error, ContextGoesInFrontAndKeepsTheCode) {
  EXPECT_ERROR(with_context("model.safetensors", [] { fail(ErrorCode::Io, "read failed"); }),
               ErrorCode::Io, "model.safetensors: read failed");
}

TEST(Error, ContextPassesTheResultOn) {
  EXPECT_EQ(with_context("anything", [] { return 7; }), 7);
}

}  // namespace
}  // namespace pippin
