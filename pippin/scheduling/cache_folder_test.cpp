#include "pippin/scheduling/cache_folder.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/base/testing.h"

namespace pippin::scheduling {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;

constexpr uint64_t kRowBytes = 100;

std::shared_ptr<const runtime::RowMemory> memory_of(size_t size, int first) {
  auto memory = std::make_shared<runtime::RowMemory>(size);
  for (size_t i = 0; i < size; ++i) memory->bytes()[i] = static_cast<std::byte>(first + i % 97);
  return memory;
}

// Collects the lines that are logged.
class Lines {
 public:
  explicit Lines(LogLevel level = LogLevel::Warn)
      : scope_(level, [this](LogLevel, std::string_view line) {
          const std::lock_guard lock(mutex_);
          lines_.emplace_back(line);
        }) {}
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
  const LogScope scope_;
};

struct CacheFolders : testing::Test {
  CacheFolder::Options options(char identity = 'a', uint64_t limit = 1 << 20) const {
    return {root.path(), std::string(64, identity), limit, 1 << 20, kRowBytes};
  }
  fs::path folder(char identity = 'a') const { return root.path() / std::string(16, identity); }
  std::vector<fs::path> files(char identity = 'a') const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(folder(identity))) {
      result.push_back(entry.path());
    }
    return result;
  }
  // Rows of tokens [first, count), written number by number.
  static std::shared_ptr<CacheFile> write(CacheFolder& cache, int64_t first, int32_t count,
                                          int begins_with = 0) {
    Ids tokens;
    for (int32_t i = 0; i < count; ++i) tokens.push_back(i + begins_with);
    const auto rows = static_cast<size_t>(count - first);
    const runtime::SequenceRest content{.count = count,
                                        .bytes = memory_of(rows * kRowBytes, begins_with)};
    return cache.write({tokens, first, false, content}, /*anyway=*/true);
  }
  static void wait_for(const CacheFile& file) {
    while (file.state == CacheFile::State::Pending) std::this_thread::yield();
  }
  // A written and closed file.
  fs::path written(char identity = 'a') const {
    {
      CacheFolder cache(options(identity));
      write(cache, 0, 20);
    }
    return files(identity).at(0);
  }

  TempDir root;
};

TEST_F(CacheFolders, GiveBackWhatTheyWereGiven) {
  const Ids tokens = {5, 6, 7};
  const runtime::SequenceRest rest{
      .count = 3, .marks = 9, .parts = {{1, 2}, {3, 4}}, .bytes = memory_of(2'500'000, 3)};
  {
    CacheFolder cache(options('a', 1 << 24));
    write(cache, 0, 20);
    write(cache, 20, 50);
    cache.write({tokens, 3, true, rest}, true);
  }
  for (const fs::path& path : files()) {
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
  }
  CacheFolder cache(options('a', 1 << 24));
  const auto found = cache.find();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].file->end, 20);
  EXPECT_EQ(found[1].header.tokens, tokens);  // in the order of the first tokens
  EXPECT_TRUE(found[1].header.is_rest);
  EXPECT_EQ(found[1].header.marks, 9U);
  EXPECT_EQ(found[1].header.parts.at(1).filled, 4U);
  EXPECT_EQ(found[2].file->first, 20);
  const auto content = cache.read(*found[1].file, tokens);
  ASSERT_NE(content, nullptr);
  EXPECT_TRUE(ranges::equal(content->bytes(), rest.bytes->bytes()));
  const auto rows = cache.read(*found[2].file, std::span(found[2].header.tokens).first(30));
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->size(), 30 * kRowBytes);
  EXPECT_EQ(cache.counts().read, 2U);
  uint64_t total = 0;
  for (const fs::path& path : files()) total += fs::file_size(path);
  EXPECT_EQ(cache.counts().bytes, total);
}

// A damaged file is a miss and one line in the log, and is removed.
TEST_F(CacheFolders, DamagedFilesAreDiscarded) {
  const std::string good = read_file(written());
  const fs::path path = files().at(0);
  struct Case {
    std::function<void(std::string&)> damage;
    const char* line;
  };
  const Case cases[] = {
      {[](std::string& file) { file.clear(); }, "not a prompt cache file, or truncated"},
      {[](std::string& file) { file = "PIPPIN"; }, "not a prompt cache file, or truncated"},
      {[](std::string& file) { file[3] = 'x'; }, "not a prompt cache file, or truncated"},
      {[](std::string& file) { file.resize(file.size() - 1); }, "bytes of the"},
      {[](std::string& file) { file.resize(file.size() / 2); }, ""},
      {[](std::string& file) { file += 'x'; }, "bytes of the"},
      {[](std::string& file) { file[23] = 'x'; }, "not a prompt cache file, or truncated"},
      {[](std::string& file) { file[40] = 'x'; }, "the checksum of its header does not match"},
      {[](std::string& file) { file[150] ^= 1; }, "the checksum of its header does not match"},
      {[](std::string& file) { file[file.size() - 9] ^= 1; }, "its checksum does not match"},
  };
  for (const Case& one : cases) {
    std::string bytes = good;
    one.damage(bytes);
    write_file(path, bytes);
    Lines lines;
    CacheFolder cache(options());
    const auto found = cache.find();
    if (!found.empty()) {  // its header is fine
      EXPECT_EQ(cache.read(*found[0].file, found[0].header.tokens), nullptr);
      EXPECT_EQ(found[0].file->state, CacheFile::State::Gone);
    }
    const auto said = lines.take();
    ASSERT_EQ(said.size(), 1U) << one.line;
    EXPECT_NE(said[0].find(one.line), said[0].npos) << said[0];
    EXPECT_NE(said[0].find("the prompt cache goes without it"), said[0].npos) << said[0];
    EXPECT_FALSE(fs::exists(path));
    EXPECT_EQ(cache.counts().discarded, 1U);
    EXPECT_EQ(cache.counts().bytes, 0U);
  }
}

TEST_F(CacheFolders, ForeignFilesAreLeftAlone) {
  const fs::path path = written();
  const std::string good = read_file(path);
  written('b');
  fs::copy(files('b').at(0), folder('a') / files('b').at(0).filename());  // of another model
  const fs::path renamed = folder('a') / (std::string(64, '0') + ".rows");
  fs::copy(path, renamed);
  std::string other = good;
  other[8] = 7;
  const fs::path newer = folder('a') / (std::string(64, '1') + ".rows");
  write_file(newer, other);
  write_file(folder('a') / "notes.txt", "mine");
  fs::create_directory(folder('a') / (std::string(64, '2') + ".rows"));
  Lines lines;
  CacheFolder cache(options());
  EXPECT_EQ(cache.find().size(), 1U);
  const auto said = lines.take();
  // Two with other names or models, and a folder; a newer version is not reported.
  EXPECT_EQ(said.size(), 3U) << fmt::format("{}", fmt::join(said, "\n"));
  for (const char* kept : {"notes.txt"}) EXPECT_TRUE(fs::exists(folder('a') / kept));
  EXPECT_TRUE(fs::exists(renamed));
  EXPECT_TRUE(fs::exists(newer));
}

// Tokens are compared even if the name matches.
TEST_F(CacheFolders, AFileOfAnotherTextIsNotUsed) {
  written();
  CacheFolder cache(options());
  const auto found = cache.find();
  ASSERT_EQ(found.size(), 1U);
  Ids other = found[0].header.tokens;
  other[7] = 1000;
  Lines lines;
  EXPECT_EQ(cache.read(*found[0].file, other), nullptr);
  EXPECT_EQ(lines.take().size(), 1U);
}

TEST_F(CacheFolders, WhatAnotherProcessRemovedIsAMiss) {
  const fs::path path = written();
  CacheFolder cache(options());
  const auto found = cache.find();
  fs::remove(path);
  Lines lines;
  EXPECT_EQ(cache.read(*found.at(0).file, found.at(0).header.tokens), nullptr);
  EXPECT_TRUE(lines.take().empty());
}

TEST_F(CacheFolders, TheOldestGoWhereTheLimitIsPassed) {
  CacheFolder cache(options('a', 20'000));
  std::vector<std::shared_ptr<CacheFile>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(write(cache, 0, 20, 100 * i));
    wait_for(*all.back());
    if (i > 2) cache.touch(*all[1]);
  }
  while (cache.counts().bytes > 20'000) std::this_thread::yield();
  uint64_t total = 0;
  for (const fs::path& path : files()) total += fs::file_size(path);
  EXPECT_LE(total, 20'000U);
  EXPECT_GT(total, 15'000U);
  EXPECT_EQ(all[1]->state, CacheFile::State::Written);  // it was used repeatedly
  EXPECT_EQ(all[2]->state, CacheFile::State::Gone);
  EXPECT_EQ(all.back()->state, CacheFile::State::Written);
}

// A limit on the file size stands for a full disk.
TEST_F(CacheFolders, AFullDiskIsOneLine) {
  struct rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = old;
  small.rlim_cur = 1000;
  Lines lines;
  {
    CacheFolder cache(options());
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 5; ++i) {
      const auto file = write(cache, 0, 20, 100 * i);
      wait_for(*file);
      EXPECT_EQ(file->state, CacheFile::State::Gone);
    }
    EXPECT_TRUE(files().empty());  // no partial file either
    ::setrlimit(RLIMIT_FSIZE, &old);
    const auto file = write(cache, 0, 20);
    wait_for(*file);
    EXPECT_EQ(file->state, CacheFile::State::Written);
    EXPECT_EQ(cache.counts().written, 1U);
  }
  ::signal(SIGXFSZ, before);
  const auto said = lines.take();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("the prompt cache goes on without its disk until there is room: "),
            said[0].npos);
  EXPECT_NE(said[0].find("cannot be written"), said[0].npos) << said[0];
}

TEST_F(CacheFolders, AFolderThatCannotBeIsAnError) {
  write_file(root / "file", "");
  CacheFolder::Options there = options();
  there.folder = root / "file";
  EXPECT_ERROR(CacheFolder cache(there), ErrorCode::Io, "cannot be made");
}

// A process killed at any moment leaves complete files; other processes remove the rest.
TEST_F(CacheFolders, KilledWritersLeaveNothingHalfWritten) {
  size_t most = 0;
  for (int round = 0; round < 8; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      CacheFolder cache(options('a', 1 << 30));
      for (int i = 0;; ++i) write(cache, 0, 3000, 10'000 * (i % 50));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 15 * round));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    Lines lines;
    CacheFolder cache(options('a', 1 << 30));
    const auto found = cache.find();
    EXPECT_EQ(found.size(), files().size());
    for (const auto& one : found) {
      const auto rows = cache.read(*one.file, one.header.tokens);
      ASSERT_NE(rows, nullptr);
      EXPECT_EQ(rows->bytes()[0], static_cast<std::byte>(one.header.tokens[0]));
    }
    EXPECT_TRUE(lines.take().empty());
    most = std::max(most, found.size());
  }
  EXPECT_GT(most, 0U);
}

TEST_F(CacheFolders, TwoMayUseOne) {
  CacheFolder first(options()), second(options());
  for (int i = 0; i < 20; ++i) {
    write(first, 0, 20, i % 7);
    wait_for(*write(second, 0, 20, i % 5));
  }
  CacheFolder third(options());
  const auto found = third.find();
  EXPECT_GE(found.size(), 5U);
  for (const auto& one : found) EXPECT_NE(third.read(*one.file, one.header.tokens), nullptr);
}

}  // namespace
}  // namespace pippin::scheduling
