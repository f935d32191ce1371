#include "pippin/app/facts/machine.h"

#include <fstream>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

TEST(Machine, ProbeTellsWhatTheMachineDoes) {
  ThreadPool pool(2);
  MachineProbe probe(pool, size_t{16} << 20);
  const auto reading = probe.reading();
  EXPECT_GT(reading.bytes_per_second, 1e7);  // under sanitizers on a busy machine
  EXPECT_LT(reading.bytes_per_second, 1e13);
  if (reading.int8_operations_per_second != 0) {
    EXPECT_GT(reading.int8_operations_per_second, 1e8);
  }
}

#if defined(__has_feature)
#define PIPPIN_HAS_FEATURE(name) __has_feature(name)
#else
#define PIPPIN_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || PIPPIN_HAS_FEATURE(address_sanitizer)
constexpr bool kFreedMemoryIsKept = true;
#else
constexpr bool kFreedMemoryIsKept = false;
#endif

TEST(Machine, PeakMemoryStartsAnew) {
  if (kFreedMemoryIsKept) GTEST_SKIP() << "the address sanitizer keeps what was freed";
  constexpr size_t kBytes = size_t{96} << 20;
  { const std::vector<char> large(kBytes, 1); }
  const uint64_t peak = peak_resident_bytes();
  EXPECT_GT(peak, kBytes);
  restart_peak_memory();
  const std::ofstream can_restart("/proc/self/clear_refs");
  if (!can_restart) GTEST_SKIP() << "the system cannot";
  EXPECT_LT(peak_resident_bytes(), peak);
}

TEST(Machine, DropsCachedFiles) {
  const TempDir folder;
  fs::create_directory(folder / "inner");
  write_file(folder / "inner" / "file", "text");
  EXPECT_TRUE(drop_cached_files(folder.path()));
  EXPECT_FALSE(drop_cached_files(folder / "absent"));
}

TEST(Machine, ReadsFiles) {
  const TempDir folder;
  fs::create_directory(folder / "inner");
  write_file(folder / "inner" / "file", "text");
  write_file(folder / "empty", "");
  EXPECT_TRUE(read_files(folder.path()));
  EXPECT_TRUE(read_files(folder / "empty"));
  EXPECT_FALSE(read_files(folder / "absent"));
  // Sparse: larger than any memory, and empty on disk.
  fs::resize_file(folder / "empty", uintmax_t{1} << 43);
  EXPECT_FALSE(read_files(folder.path()));
}

}  // namespace
}  // namespace pippin::app
