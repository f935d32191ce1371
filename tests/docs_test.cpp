// What the documents quote is what the tests build.

#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/file.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

std::string read(const std::string& path) {
  return read_file(std::filesystem::path(PIPPIN_SOURCE_DIR) / path);
}

TEST(Docs, TheInterfacesExampleIsTheOneThatIsBuilt) {
  const std::string document = read("docs/cpp-api.md");
  EXPECT_NE(document.find("```cpp\n" + read("examples/predict.cpp") + "```"), std::string::npos);
  EXPECT_NE(document.find("```cmake\n" + read("examples/CMakeLists.txt") + "```"),
            std::string::npos);
}

}  // namespace
}  // namespace pippin
