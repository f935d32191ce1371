// For tests: what the program prints when it fails.
#pragma once

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/process.h"

namespace pippin {

// Expects this exit status, one line on stderr that contains `part`, and nothing on stdout.
inline void expect_failure(const ProcessResult& result, int status, const std::string& part) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_TRUE(result.err.starts_with("pippin: error: ")) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

}  // namespace pippin
