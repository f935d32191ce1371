#include "pippin/base/loaded_library.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin {
namespace {

#ifdef __APPLE__
constexpr const char* kMath = "libSystem.B.dylib";
#else
constexpr const char* kMath = "libm.so.6";
#endif

TEST(LoadedLibrary, FindsFunctions) {
  const LoadedLibrary library({"libnonexistent.so.9", kMath}, "roots");
  double (*root)(double) = nullptr;
  library.find("sqrt", root);
  EXPECT_EQ(root(9), 3);
  EXPECT_ERROR(library.find("no_such_function", root), ErrorCode::Unsupported,
               "has no no_such_function");
}

TEST(LoadedLibrary, NamesThePurposeAndTheReason) {
  EXPECT_ERROR(LoadedLibrary({"libnonexistent.so.9", "libother.so.1"}, "x needs y"),
               ErrorCode::Unsupported, "x needs y, which cannot be loaded: ");
  EXPECT_ERROR(LoadedLibrary({"libnonexistent.so.9", "libother.so.1"}, "x needs y"),
               ErrorCode::Unsupported, "libnonexistent.so.9");
}

}  // namespace
}  // namespace pippin
