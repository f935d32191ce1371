// Checks the advice given to Linux when a file is mapped.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/files/mapped_file.h"
#include "pippin/base/platform/free_memory.h"
#include "pippin/base/platform/pages.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

// Returns the line of /proc/self/smaps with the flags of the mapping that begins at `data`.
std::string flags_of(const void* data) {
  std::ifstream maps("/proc/self/smaps");
  std::ostringstream begin;
  begin << std::hex << reinterpret_cast<uintptr_t>(data) << "-";
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.rfind(begin.str(), 0) == 0) found = true;
    if (found && line.rfind("VmFlags:", 0) == 0) return line + " ";
  }
  return "no such mapping";
}

TEST(MappedFileOnLinux, HugePagesAreForWhatMemoryHolds) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) {
    GTEST_SKIP() << "no huge pages here";
  }
  const TempDir dir;
  const std::filesystem::path path = dir / "sparse";
  std::ofstream(path).close();
  const auto flags = [&](uint64_t bytes) {
    std::filesystem::resize_file(path, bytes);  // sparse
    return flags_of(MappedFile::open(path)->bytes().data());
  };
  EXPECT_NE(flags(2 * kHugePage).find(" hg "), std::string::npos);
  EXPECT_EQ(flags(2 * kHugePage - 1).find(" hg "), std::string::npos);
  const std::string large = flags(4 * free_memory());
  EXPECT_NE(large.find("VmFlags:"), std::string::npos) << large;
  EXPECT_EQ(large.find(" hg "), std::string::npos) << large;
}

}  // namespace
}  // namespace pippin
