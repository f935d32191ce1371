#include "pippin/base/platform/free_memory_linux.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/platform/free_memory.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

struct FreeMemory : testing::Test {
  FreeMemory() { put("meminfo", "MemTotal: 9000 kB\nMemAvailable:    3000 kB\nSwap: 1 kB\n"); }
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  uint64_t kib() const {
    return free_memory(root / "meminfo", {root / "self", root / "fs"}) / 1024;
  }
  TempDir root;
};

TEST_F(FreeMemory, IsWhatTheSystemSays) {
  EXPECT_EQ(kib(), 3000U);
  put("self", "0::/\n");
  put("fs/memory.max", "max\n");
  put("fs/memory.current", "123\n");
  EXPECT_EQ(kib(), 3000U);
  EXPECT_GT(free_memory(), uint64_t{1} << 20);  // of the real machine
}

TEST_F(FreeMemory, IsWhatGroupsLeave) {
  put("self", "0::/a.slice/b\n");
  put("fs/a.slice/memory.max", std::to_string(2000 * 1024));
  put("fs/a.slice/memory.current", std::to_string(500 * 1024));
  EXPECT_EQ(kib(), 1500U);
  put("fs/a.slice/memory.stat", "anon 5\ninactive_file 102400\n");
  EXPECT_EQ(kib(), 1600U);
  put("fs/a.slice/b/memory.max", std::to_string(100 * 1024));
  put("fs/a.slice/b/memory.current", std::to_string(300 * 1024));  // the limit was lowered
  EXPECT_EQ(kib(), 0U);
}

TEST_F(FreeMemory, IsWhatGroupsOfVersionOneLeave) {
  put("self", "5:memory:/docker/x\n");
  put("fs/memory/docker/x/memory.limit_in_bytes", std::to_string(1000 * 1024));
  put("fs/memory/docker/x/memory.usage_in_bytes", std::to_string(600 * 1024));
  put("fs/memory/docker/x/memory.stat", "inactive_file 0\ntotal_inactive_file 51200\n");
  EXPECT_EQ(kib(), 450U);
}

TEST_F(FreeMemory, OfAllIsWhatGroupsMayHave) {
  const auto kib = [&] {
    return total_memory(root / "meminfo", {root / "self", root / "fs"}) / 1024;
  };
  EXPECT_EQ(kib(), 9000U);
  put("self", "0::/a.slice/b\n5:memory:/docker/x\n");
  put("fs/a.slice/memory.max", std::to_string(2000 * 1024));
  put("fs/a.slice/memory.current", std::to_string(1999 * 1024));
  put("fs/a.slice/b/memory.max", "max\n");
  EXPECT_EQ(kib(), 2000U);
  put("fs/memory/docker/x/memory.limit_in_bytes", std::to_string(1000 * 1024));
  EXPECT_EQ(kib(), 1000U);
  EXPECT_GE(total_memory(), free_memory());  // of the real machine
}

TEST_F(FreeMemory, HasAGuessWhereNothingIsSaid) {
  put("meminfo", "MemAvailable: plenty\n");
  EXPECT_GT(kib(), 1024U);
}

}  // namespace
}  // namespace pippin
