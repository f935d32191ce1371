#include "pippin/app/open/text_input.h"

#include <filesystem>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

// A named pipe, written by another thread.
class Pipe {
 public:
  Pipe(const fs::path& path, std::vector<std::string> parts) : path_(path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    writer_ = std::thread([path, parts = std::move(parts)] {
      const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      for (const std::string& part : parts) {
        EXPECT_EQ(::write(fd, part.data(), part.size()), static_cast<ssize_t>(part.size()));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      ::close(fd);
    });
  }
  ~Pipe() { writer_.join(); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
  std::thread writer_;
};

std::vector<std::string> lines_of(const std::string& file, size_t most_bytes = 1000) {
  std::vector<std::string> lines;
  for_each_line(
      file,
      [&](std::string_view line, int64_t number) {
        lines.emplace_back(line);
        EXPECT_EQ(number, static_cast<int64_t>(lines.size()));
      },
      most_bytes);
  return lines;
}

TEST(TextInput, FilesAndPipes) {
  const TempDir dir;
  const std::string long_text(300000, 'x');
  write_file(dir / "file", long_text);
  EXPECT_EQ(read_text(dir / "file"), long_text);
  write_file(dir / "empty", "");
  EXPECT_EQ(read_text(dir / "empty"), "");
  const Pipe pipe(dir / "pipe", {"Once ", "upon\n", "a time"});
  EXPECT_EQ(read_text(pipe.path()), "Once upon\na time");
  const Pipe nothing(dir / "nothing", {});
  EXPECT_EQ(read_text(nothing.path()), "");
}

TEST(TextInput, WhatCannotBeRead) {
  const TempDir dir;
  EXPECT_ERROR(read_text(dir / "none"), ErrorCode::NotFound, "/none: No such file");
  EXPECT_ERROR(read_text(dir.path()), ErrorCode::Io, dir.path().string() + ": Is a directory");
  EXPECT_ERROR(lines_of(dir.path()), ErrorCode::Io, "Is a directory");
}

// A signal may come when no system call waits yet, so a wait must not depend on it.
TEST(TextInput, WaitsEndWithoutASignal) {
  const TempDir dir;
  const std::string path = (dir / "pipe").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int silent = ::open(path.c_str(), O_RDWR | O_CLOEXEC);  // a writer that writes nothing
  ASSERT_GE(silent, 0);
  CancelToken token;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    token.request();
  });
  {
    const CancelScope scope(token);
    EXPECT_ERROR(read_text(path), ErrorCode::Cancelled, "cancelled");
  }
  canceller.join();
  ::close(silent);
}

TEST(TextInput, WhatIsTooLong) {
  const TempDir dir;
  write_file(dir / "file", std::string(1001, 'x'));
  EXPECT_ERROR(read_text(dir / "file", 1000), ErrorCode::LimitExceeded,
               "/file: more than 1000 bytes");
  EXPECT_EQ(read_text(dir / "file", 1001).size(), 1001U);
  if (!fs::exists("/dev/zero")) GTEST_SKIP() << "no /dev/zero here";
  EXPECT_ERROR(read_text("/dev/zero", 1 << 20), ErrorCode::LimitExceeded,
               "/dev/zero: more than 1048576");
  EXPECT_ERROR(lines_of("/dev/zero", 1 << 20), ErrorCode::LimitExceeded,
               "line 1 has more than 1048576");
}

TEST(TextInput, Lines) {
  using Lines = std::vector<std::string>;
  const TempDir dir;
  const Pipe pipe(dir / "pipe", {"one\ntw", "o\n", "\n", "four"});
  EXPECT_EQ(lines_of(pipe.path()), Lines({"one", "two", "", "four"}));
  write_file(dir / "empty", "");
  EXPECT_EQ(lines_of(dir / "empty"), Lines());
  write_file(dir / "ends", "a\n");
  EXPECT_EQ(lines_of(dir / "ends"), Lines({"a"}));
  std::string many;
  for (int i = 0; i < 30000; ++i) many += std::to_string(i) + "\n";
  write_file(dir / "many", many);
  const Lines found = lines_of(dir / "many", 100000);
  ASSERT_EQ(found.size(), 30000U);
  EXPECT_EQ(found.back(), "29999");
  write_file(dir / "long", "a\n" + std::string(200000, 'x') + "\nb\n");
  EXPECT_ERROR(lines_of(dir / "long", 1000), ErrorCode::LimitExceeded,
               "line 2 has more than 1000 bytes");
  EXPECT_EQ(lines_of(dir / "long", 300000).size(), 3U);
}

}  // namespace
}  // namespace pippin::app
