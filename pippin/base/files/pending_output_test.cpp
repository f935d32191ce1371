#include "pippin/base/files/pending_output.h"

#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries(const fs::path& folder) {
  return {fs::directory_iterator(folder), {}};
}

void make_folder(const fs::path& path, const std::string& content) {
  fs::create_directories(path);
  write_file(path / "file", content);
}

// A process that runs `begin`, reports it, waits for a message, and runs `end`.
class Child {
 public:
  Child(const std::function<void(PendingOutput&)>& begin, const fs::path& target) {
    int ready[2], told[2];
    EXPECT_EQ(::pipe(ready), 0);
    EXPECT_EQ(::pipe(told), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ready[0]);
      ::close(told[1]);
      {
        PendingOutput output(target);
        begin(output);
        char byte = 'r';
        if (::write(ready[1], &byte, 1) == 1 && ::read(told[0], &byte, 1) == 1) output.commit();
      }
      ::_exit(0);
    }
    ::close(ready[1]);
    ::close(told[0]);
    told_ = told[1];
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFSIGNALED(status));
    ::close(told_);
  }
  void finish() {
    EXPECT_EQ(::write(told_, "t", 1), 1);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    EXPECT_EQ(status, 0);
    ::close(told_);
  }

 private:
  pid_t pid_ = -1;
  int told_ = -1;
};

void write_half_a_file(PendingOutput& output) {
  FileWriter writer(output.path());
  writer.write(std::string(3 << 20, 'x'));
  writer.close();
}

void write_half_a_folder(PendingOutput& output) {
  fs::create_directories(output.path() / "deep");
  write_file(output.path() / "deep/file", "half");
  const PendingOutput inner(output.path() / "deep/inner");  // like packages in a folder of packages
  write_file(inner.path(), "half");
  ::kill(::getpid(), SIGKILL);
}

TEST(PendingOutput, WhatAKilledProcessLeftGoesWithTheNextOutput) {
  const TempDir dir;
  const fs::path target = dir / "x.mlpackage";
  Child(write_half_a_file, target).kill();
  Child(write_half_a_file, target).kill();
  const auto left = entries(dir.path());
  ASSERT_EQ(left.size(), 1U);  // of two; the second removed the leftovers of the first
  EXPECT_TRUE(left[0].filename().string().starts_with(".x.mlpackage.partial."));
  write_file(target, "new");
  EXPECT_EQ(entries(dir.path()), std::vector<fs::path>{target});
  EXPECT_EQ(read_file(target), "new");
}

TEST(PendingOutput, AFolderThatAKilledProcessLeftGoesToo) {
  const TempDir dir;
  const fs::path target = dir / "x.mlpackage";
  make_folder(target, "before");
  const pid_t child = ::fork();
  if (child == 0) {
    PendingOutput output(target);
    write_half_a_folder(output);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(entries(dir.path()).size(), 2U);
  { const PendingOutput next(target); }  // even without commit()
  EXPECT_EQ(entries(dir.path()), std::vector<fs::path>{target});
  EXPECT_EQ(read_file(target / "file"), "before");
}

TEST(PendingOutput, WhatALivingProcessWritesStays) {
  const TempDir dir;
  const fs::path target = dir / "x";
  Child child(write_half_a_file, target);
  write_file(target, "mine");
  EXPECT_EQ(read_file(target), "mine");
  EXPECT_EQ(entries(dir.path()).size(), 2U);
  child.finish();
  EXPECT_EQ(read_file(target), std::string(3 << 20, 'x'));
  EXPECT_EQ(entries(dir.path()).size(), 1U);
}

TEST(PendingOutput, TwoOfOneProcessStay) {
  const TempDir dir;
  PendingOutput first(dir / "x");
  write_file(first.path(), "first");
  PendingOutput second(dir / "x");
  write_file(second.path(), "second");
  first.commit();
  EXPECT_EQ(read_file(dir / "x"), "first");
  second.commit();
  EXPECT_EQ(read_file(dir / "x"), "second");
  EXPECT_EQ(entries(dir.path()).size(), 1U);
}

// Each thread begins, writes and commits concurrently.
void write_from_threads(const fs::path& target, bool as_folder) {
  constexpr int kThreads = 8, kRounds = 20;
  std::vector<std::string> failures(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      try {
        for (int round = 0; round < kRounds; ++round) {
          PendingOutput output(target);
          if (as_folder) {
            make_folder(output.path(), "content");
          } else {
            write_file(output.path(), "content");
          }
          output.commit();
        }
      } catch (const std::exception& error) {
        failures[static_cast<size_t>(i)] = error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
  EXPECT_EQ(entries(target.parent_path()), std::vector<fs::path>{target});
  EXPECT_EQ(read_file(as_folder ? target / "file" : target), "content");
}

TEST(PendingOutput, ThreadsOfOneProcessWriteToOnePlace) {
  const TempDir dir;
  write_from_threads(dir / "x", false);
}

TEST(PendingOutput, ThreadsOfOneProcessWriteFoldersToOnePlace) {
  const TempDir dir;
  write_from_threads(dir / "x", true);
}

// Creates leftover folders; `machine` is the content of the lock.
class Abandoned : public testing::Test {
 protected:
  fs::path leave(const std::string& name, const std::string& machine) {
    fs::path folder = dir_ / name;
    make_folder(folder / "output", "half");
    write_file(folder / "lock", machine);
    return folder;
  }
  // Returns the content of a lock on this machine.
  std::string here() {
    const PendingOutput output(dir_ / "other");
    return read_file(output.path().parent_path() / "lock");
  }
  const TempDir dir_;
};

TEST_F(Abandoned, OtherMachinesAreLeftAlone) {
  const fs::path folder = leave(".x.partial.ABCdef", "elsewhere\n01234567-89ab\n");
  const fs::path unsaid = leave(".x.partial.ABCdeg", "");
  const fs::path nameless = leave(".x.partial.ABCdeh", "\n\n");
  write_file(dir_ / "x", "new");
  for (const fs::path& path : {folder, unsaid, nameless}) {
    EXPECT_EQ(read_file(path / "output/file"), "half") << path;
  }
}

TEST_F(Abandoned, TheMachineIsKnownByItsBootOrItsName) {
  const std::string machine = here();
  const size_t line = machine.find('\n');
  ASSERT_LT(line + 2, machine.size());
  const fs::path restarted = leave(".x.partial.ABCdef", machine.substr(0, line) + "\nearlier\n");
  const fs::path container = leave(".x.partial.ABCdeg", "elsewhere" + machine.substr(line));
  const fs::path same = leave(".x.partial.ABCdeh", machine);
  write_file(dir_ / "x", "new");
  for (const fs::path& path : {restarted, container, same}) EXPECT_FALSE(fs::exists(path)) << path;
}

TEST_F(Abandoned, OtherPlacesAreLeftAlone) {
  const std::string machine = here();
  const std::vector<fs::path> others = {
      leave(".x.y.partial.ABCdef", machine), leave(".x.partials.ABCdef", machine),
      leave(".x.partial.ABC.ef", machine), leave("x.partial.ABCdef", machine),
      leave(".x.partial.ABCdefg", machine)};
  write_file(dir_ / ".x.partial.ABCdef", "a file");
  write_file(dir_ / "x", "new");
  for (const fs::path& path : others) EXPECT_TRUE(fs::exists(path / "output")) << path;
  EXPECT_TRUE(fs::exists(dir_ / ".x.partial.ABCdef"));
}

TEST_F(Abandoned, WhatWasThereComesBack) {
  const fs::path folder = leave(".x.partial.ABCdef", here());
  make_folder(folder / "old", "before");
  { const PendingOutput next(dir_ / "x"); }
  EXPECT_EQ(read_file(dir_ / "x/file"), "before");
  EXPECT_FALSE(fs::exists(folder));
  // A newer output is kept.
  make_folder(leave(".x.partial.ABCdef", here()) / "old", "older");
  { const PendingOutput next(dir_ / "x"); }
  EXPECT_EQ(read_file(dir_ / "x/file"), "before");
  EXPECT_EQ(entries(dir_.path()).size(), 1U);
}

TEST_F(Abandoned, AnEmptyFolderGoes) {
  fs::create_directory(dir_ / ".x.partial.ABCdef");
  fs::create_directories(dir_ / ".x.partial.ABCdeg/mine");
  write_file(dir_ / "x", "new");
  EXPECT_FALSE(fs::exists(dir_ / ".x.partial.ABCdef"));
  EXPECT_TRUE(fs::exists(dir_ / ".x.partial.ABCdeg/mine"));
}

// As a device is, which a rename would replace, also where a link leads to it.
TEST(PendingOutput, PipesAreNotReplaced) {
  const TempDir folder;
  const fs::path pipe = folder / "pipe", link = folder / "link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(pipe, link);
  for (const fs::path& target : {pipe, link}) {
    EXPECT_ERROR(PendingOutput{target}, ErrorCode::InvalidArgument,
                 target.string() + ": is neither a file nor a folder, so it is not replaced");
  }
  EXPECT_TRUE(fs::is_fifo(pipe) && fs::is_symlink(link));
  EXPECT_EQ(entries(folder.path()).size(), 2U);
}

TEST(PendingOutput, AFolderThatCannotBeWrittenIsNamed) {
  if (!fs::exists("/proc/self")) GTEST_SKIP() << "no folder here that nobody may write to";
  EXPECT_ERROR(PendingOutput("/proc/x"), ErrorCode::Io, "/proc/x: cannot be written: ");
}

}  // namespace
}  // namespace pippin
