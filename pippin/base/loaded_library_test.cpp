#include "pippin/base/loaded_library.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin {
namespace {

// Libraries of the systems that have sqrt(), also through their dependencies.
#ifdef __APPLE__
constexpr const char* kName = "c++";
constexpr int kVersion = 1;
#else
constexpr const char* kName = "m";
constexpr int kVersion = 6;
#endif

TEST(LoadedLibrary, FindsFunctions) {
  const LoadedLibrary library(kName, kVersion, "roots need it");
  double (*root)(double) = nullptr;
  library.find("sqrt", root);
  EXPECT_EQ(root(9), 3);
  EXPECT_ERROR(library.find("no_such_function", root), ErrorCode::Unsupported,
               "has no no_such_function");
}

TEST(LoadedLibrary, NamesThePurposeAndTheReason) {
  EXPECT_ERROR(LoadedLibrary("nonexistent", 9, "x needs y"), ErrorCode::Unsupported,
               "x needs y, which cannot be loaded: ");
  EXPECT_ERROR(LoadedLibrary("nonexistent", 9, "x needs y"), ErrorCode::Unsupported,
               "libnonexistent.");
}

}  // namespace
}  // namespace pippin
