#include "pippin/base/platform/cpu_limit_linux.h"

#include <fstream>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

struct CpuLimit : testing::Test {
  std::optional<double> limit() const { return cgroup_cpu_limit(root / "self", root / "fs"); }
  TempDir root;
};

TEST_F(CpuLimit, NoneWhereNothingSaysOne) {
  EXPECT_FALSE(limit());
  write(root / "self", "0::/\n");
  write(root / "fs/cpu.max", "max 100000\n");
  EXPECT_FALSE(limit());
}

TEST_F(CpuLimit, VersionTwo) {
  write(root / "fs/cpu.max", "150000 100000\n");  // in a container, its own group is at the top
  EXPECT_EQ(limit(), 1.5);
  write(root / "self", "0::/a.slice/b\n");
  write(root / "fs/cpu.max", "max 100000\n");
  write(root / "fs/a.slice/cpu.max", "400000 100000\n");
  EXPECT_EQ(limit(), 4);
  write(root / "fs/a.slice/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(limit(), 0.5);
}

TEST_F(CpuLimit, VersionOne) {
  write(root / "fs/cpu/cpu.cfs_quota_us", "300000\n");
  write(root / "fs/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 3);
  write(root / "fs/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_FALSE(limit());
  write(root / "self", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n");
  write(root / "fs/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "200000\n");
  write(root / "fs/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 2);
}

TEST_F(CpuLimit, WhatMakesNoSenseDoesNotCount) {
  for (const char* text :
       {"", "many 100000", "100000", "100000 0", "-5 100000", "0 100000", "1e999 1"}) {
    write(root / "fs/cpu.max", text);
    EXPECT_FALSE(limit()) << text;
  }
  write(root / "self", "no colons\n0::\n::/x\n0::/../../etc\n:\n");
  EXPECT_FALSE(limit());
}

TEST(Threads, AreAsManyAsThereAreCores) {
  EXPECT_GE(default_num_threads(), 1);
  EXPECT_EQ(ThreadPool().num_threads(), default_num_threads());
}

}  // namespace
}  // namespace pippin
