#include "pippin/base/files/mapped_guard.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/mapped_origin.h"
#include "pippin/base/files/output.h"
#include "pippin/base/platform/pages.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// Maps a file of four pages of 'x'. Tests change the process's signal handler, so they run in
// children.
class MappedGuards : public testing::Test {
 protected:
  size_t page() const { return page_size(); }
  std::shared_ptr<const MappedFile> map(const char* name) const {
    write_file(dir_ / name, std::string(4 * page(), 'x'));
    return MappedFile::open(dir_ / name);
  }
  void cut(const char* name, size_t pages) const { fs::resize_file(dir_ / name, pages * page()); }

  // Exits the child with `number` if the check fails.
  static void check(bool holds, int number) {
    if (!holds) std::_Exit(number);
  }

 private:
  TempDir dir_;
};

char at(const MappedFile& file, size_t offset) {
  return static_cast<char>(*static_cast<const volatile std::byte*>(file.bytes().data() + offset));
}

TEST_F(MappedGuards, EndsTheProgramWithTheNameOfTheFile) {
  const auto file = map("weights.bin"), other = map("other.bin");
  cut("weights.bin", 1);
  EXPECT_EXIT(
      {
        guard_mapped_files(MappedGuard::EndProgram);
        check(at(*file, 0) == 'x' && at(*other, 3 * page()) == 'x', 11);
        at(*file, page());
      },
      testing::ExitedWithCode(1),
      "^pippin: error: .*/weights.bin: can no longer be read: it was cut off while it was used, or "
      "its disk failed\n$");
}

TEST_F(MappedGuards, MarksTheFile) {
  auto file = map("weights.bin"), other = map("other.bin");
  EXPECT_EXIT(
      {
        guard_mapped_files(MappedGuard::EndProgram);
        guard_mapped_files(MappedGuard::MarkFile);
        cut("weights.bin", 2);
        check(at(*file, page()) == 'x' && num_damaged_files() == 0, 11);
        check(at(*file, 3 * page()) == 0 && num_damaged_files() == 1, 12);
        check(at(*file, 2 * page()) == 0 && num_damaged_files() == 1, 13);
        check(at(*file, page()) == 'x' && at(*other, page()) == 'x', 14);
        check(origin_of(file->bytes())->damaged && !origin_of(other->bytes())->damaged, 15);
        file.reset();
        const auto next = map("next.bin");
        check(!origin_of(next->bytes())->damaged, 16);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST_F(MappedGuards, LeavesOtherSignalsToTheHandlerBefore) {
  EXPECT_EXIT(
      {
        std::signal(SIGBUS, [](int) { std::_Exit(21); });
        guard_mapped_files(MappedGuard::MarkFile);
        std::raise(SIGBUS);
      },
      testing::ExitedWithCode(21), "^$");
  EXPECT_EXIT(
      {
        std::signal(SIGBUS, SIG_DFL);
        guard_mapped_files(MappedGuard::MarkFile);
        std::raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "^$");
}

TEST_F(MappedGuards, NumbersMappings) {
  const uint64_t next = next_mapping();
  const auto first = map("first.bin"), second = map("second.bin");
  EXPECT_EQ(origin_of(first->bytes())->mapping, next);
  EXPECT_EQ(origin_of(second->bytes())->mapping, next + 1);
  const auto files = mapped_files();
  EXPECT_EQ(std::count_if(files.begin(), files.end(),
                          [&](const FileOrigin& file) { return file.mapping >= next; }),
            2);
}

}  // namespace
}  // namespace pippin
