#include "pippin/cuda/backend.h"

#include <gtest/gtest.h>

namespace pippin::cuda {
namespace {

TEST(CudaBackend, NumbersOfGpus) {
  EXPECT_EQ(gpu_number("cuda"), 0);
  EXPECT_EQ(gpu_number("cuda:0"), 0);
  EXPECT_EQ(gpu_number("cuda:12"), 12);
  for (const char* text :
       {"", "cud", "cpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda:99999999999", "cuda0"}) {
    EXPECT_EQ(gpu_number(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace pippin::cuda
