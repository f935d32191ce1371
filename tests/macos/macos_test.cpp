// The files that Macs compile in place of Linux's (pippin/*_macos.cpp), with stand-ins for the
// functions they call. Tests types and arithmetic, not the behaviour of macOS.

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/app/facts/energy_meter.h"
#include "pippin/app/facts/machine.h"
#include "pippin/base/error.h"
#include "pippin/base/platform/boot_id.h"
#include "pippin/base/platform/cpus.h"
#include "pippin/base/platform/file_cache.h"
#include "pippin/base/platform/file_times.h"
#include "pippin/base/platform/free_memory.h"
#include "pippin/base/platform/pages.h"
#include "pippin/base/platform/program_path.h"
#include "tests/macos/stubs.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

struct MacOs : testing::Test {
  MacOs() {
    mac() = Mac();
    std::string name = (fs::temp_directory_path() / "pippin-macos-XXXXXX").string();
    const char* made = ::mkdtemp(name.data());
    EXPECT_NE(made, nullptr);
    folder = name;
  }
  ~MacOs() override { fs::remove_all(folder); }
  fs::path folder;
};

TEST_F(MacOs, ThreadsAreForFastCores) {
  EXPECT_GE(usable_cpus(), 1);  // an Intel Mac has no levels
  mac().numbers["hw.perflevel0.logicalcpu"] = 6;
  mac().numbers["hw.perflevel1.logicalcpu"] = 2;
  EXPECT_EQ(usable_cpus(), 6);
  mac().numbers["hw.perflevel0.logicalcpu"] = 0;
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_TRUE(allowed_cpus().empty());
  EXPECT_EQ(current_cpu(), -1);
  keep_to_cpu(3);
  work_at_once();
  EXPECT_EQ(mac().thread_class, QOS_CLASS_USER_INITIATED);
}

TEST_F(MacOs, FeaturesAreNamedBySysctl) {
  EXPECT_FALSE(arm_features().i8mm);
  mac().numbers["hw.optional.arm.FEAT_I8MM"] = 0;
  EXPECT_FALSE(arm_features().i8mm);
  mac().numbers["hw.optional.arm.FEAT_I8MM"] = 1;
  EXPECT_TRUE(arm_features().i8mm);
  // A number of another size is ignored.
  mac().numbers.clear();
  mac().large_numbers["hw.optional.arm.FEAT_I8MM"] = 1;
  EXPECT_FALSE(arm_features().i8mm);
}

TEST_F(MacOs, FreeMemoryIsFreeAndInactive) {
  mac().free_pages = 3'000'000'000;  // more bytes than 32 bits count
  mac().inactive_pages = 2'000'000'000;
  EXPECT_EQ(free_memory(), 5'000'000'000 * 16384);
  mac().has_statistics = false;
  EXPECT_EQ(free_memory(), 0U);
  EXPECT_EQ(total_memory(), 0U);
  mac().large_numbers["hw.memsize"] = uint64_t{16} << 30;
  EXPECT_EQ(free_memory(), uint64_t{4} << 30);
  EXPECT_EQ(total_memory(), uint64_t{16} << 30);
  EXPECT_EQ(mac().open_ports, 0);
}

TEST_F(MacOs, PagesAreZeroedAndGivenBack) {
  const size_t bytes = 3 * page_size();
  std::string text(bytes, 'x');
  EXPECT_TRUE(zero_pages(text.data(), bytes));
  EXPECT_EQ(text, std::string(bytes, '\0'));
  EXPECT_EQ(mac().advice, (std::vector<int>{MADV_ZERO, MADV_FREE}));
  // Before macOS 13 they stay unchanged and are not restored.
  mac() = Mac();
  mac().has_zeroing = false;
  text.assign(bytes, 'x');
  EXPECT_FALSE(zero_pages(text.data(), bytes));
  EXPECT_EQ(text, std::string(bytes, 'x'));
  EXPECT_EQ(mac().advice, (std::vector<int>{MADV_ZERO}));
  want_huge_pages(text.data(), bytes);
}

TEST_F(MacOs, FilesAreAskedForInPiecesThatACallTakes) {
  const fs::path path = folder / "large";
  std::ofstream(path).put('x');
  constexpr int64_t kMost = 0x7FFFFFFF, kBytes = 2 * kMost + 5;
  fs::resize_file(path, kBytes);  // a hole
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  want_soon(fd);
  ::close(fd);
  EXPECT_EQ(mac().read_ahead,
            (std::vector<std::pair<int64_t, int>>{{0, kMost}, {kMost, kMost}, {2 * kMost, 5}}));
  want_soon(-1);
  EXPECT_EQ(mac().read_ahead.size(), 3U);
}

TEST_F(MacOs, FilesAreForgotten) {
  EXPECT_FALSE(forget_cached(folder / "none"));
  std::ofstream(folder / "empty");
  EXPECT_TRUE(forget_cached(folder / "empty"));
  std::ofstream(folder / "full") << "text";
  EXPECT_TRUE(forget_cached(folder / "full"));
}

TEST_F(MacOs, TimesOfFilesAreNanoseconds) {
  struct stat info {};
  info.st_mtim = {12, 345};
  info.st_ctim = {-2, 5};  // before 1970
  EXPECT_EQ(modified_ns(info), 12'000'000'345);
  EXPECT_EQ(changed_ns(info), -1'999'999'995);
}

TEST_F(MacOs, TheProgramKnowsItsFile) {
  EXPECT_EQ(program_path(), "/usr/local/bin/pippin");
  mac().program = std::string(5000, 'a');
  EXPECT_THROW(program_path(), Error);
}

// Counts the whole CPU, GPU and so on; parts of these, and channels with unknown units, do not
// count.
TEST_F(MacOs, EnergyIsThatOfTheWholeParts) {
  mac().energy = {{"CPU Energy", "mJ", 500}, {"DIE_1_CPU Energy", "mJ", 100},
                  {"PCPU0", "mJ", 400},      {"GPU Energy", "nJ", 7'000'000'000},
                  {"ANE0", "uJ", 3'000'000}, {"DRAM0", "mJ", 50},
                  {"GPU SRAM0", "mJ", 9},    {"ANE clock", "ticks", 12}};
  {
    const auto meter = app::open_energy_meter();
    EXPECT_EQ(meter->source(), "of CPU, GPU, Neural Engine and memory, by IOReport");
    EXPECT_EQ(meter->joules(), 0);
    for (EnergyChannel& channel : mac().energy) channel.value *= 3;
    EXPECT_DOUBLE_EQ(meter->joules().value(), 2 * (0.5 + 0.1 + 7 + 3 + 0.05));
    EXPECT_DOUBLE_EQ(meter->joules().value(), 2 * (0.5 + 0.1 + 7 + 3 + 0.05));
  }
  EXPECT_EQ(mac().objects, 0);
  const auto expect_nothing = [] {
    {
      const auto meter = app::open_energy_meter();
      EXPECT_FALSE(meter->joules().has_value());
      EXPECT_EQ(meter->source().find("not told: IOReport"), 0U);
    }
    EXPECT_EQ(mac().objects, 0);
  };
  for (const char* symbol : {"IOReportCopyChannelsInGroup", "IOReportSimpleGetIntegerValue"}) {
    mac().missing_symbol = symbol;
    expect_nothing();
  }
  mac().missing_symbol.clear();
  mac().energy = {{"Battery", "mJ", 5}};
  expect_nothing();
  mac().energy.clear();
  expect_nothing();
  mac().has_io_report = false;
  expect_nothing();
}

TEST_F(MacOs, TheMachineSaysItsName) {
  EXPECT_EQ(app::cpu_name(), "unknown");
  EXPECT_EQ(boot_id(), "");
  mac().texts["machdep.cpu.brand_string"] = "Apple M2 Pro";
  mac().texts["kern.bootsessionuuid"] = "6B2F0D5E-0000-4000-8000-000000000001";
  EXPECT_EQ(app::cpu_name(), "Apple M2 Pro");
  EXPECT_EQ(boot_id(), "6B2F0D5E-0000-4000-8000-000000000001");
  mac().texts["machdep.cpu.brand_string"] = std::string(500, 'x');  // longer than the buffer
  EXPECT_EQ(app::cpu_name(), "unknown");
  EXPECT_GT(app::peak_memory_bytes(), 0U);
  EXPECT_EQ(app::peak_resident_bytes(), app::peak_memory_bytes());
  app::restart_peak_memory();
}

}  // namespace
}  // namespace pippin
