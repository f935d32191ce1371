#include "pippin/io/load_cache.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pippin/base/files/file.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/io/load_cache_files.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string key_of(int64_t number) {
  return CacheKey().add(number).finish();
}

std::vector<std::byte> numbers(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

bool same(ByteSpan a, ByteSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

size_t count_files(const fs::path& folder, std::string_view suffix) {
  size_t count = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    count += file.path().string().ends_with(suffix) ? 1 : 0;
  }
  return count;
}

void write_whole(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Collects warnings during its lifetime.
class Warnings {
 public:
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
  LogScope log_{LogLevel::Warn,
                [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
};

class LoadCacheTest : public testing::Test {
 protected:
  fs::path entry(const std::string& key) const { return folder_ / (key + ".array"); }

  TempDir root_;
  const fs::path folder_ = root_ / "cache";
};

TEST_F(LoadCacheTest, MapsWhatWasStored) {
  for (const size_t size : {0, 1, 7, 8, 9, 4096, 5'000'001, 9'000'000}) {
    const auto bytes = numbers(size, size);
    const std::string key = key_of(static_cast<int64_t>(size));
    LoadCache first(folder_);
    EXPECT_FALSE(first.find(key, size));
    const auto stored = first.store(key, bytes, "numbers");
    ASSERT_TRUE(stored) << size;
    EXPECT_TRUE(same(stored->bytes, bytes)) << size;
    EXPECT_EQ(stored->file->path(), entry(key));
    EXPECT_EQ(stored->bytes.data(), stored->file->bytes().data()) << "a copy";
    LoadCache second(folder_);
    const auto found = second.find(key, size);
    ASSERT_TRUE(found) << size;
    EXPECT_TRUE(same(found->bytes, bytes)) << size;
    EXPECT_FALSE(second.find(key_of(-1), size));
  }
  EXPECT_EQ(LoadCache(folder_).entries().size(), 8U);
  EXPECT_EQ(LoadCache(folder_).entries()[0].what_of, "numbers");
}

TEST_F(LoadCacheTest, FieldsOfAKeyDoNotRunTogether) {
  EXPECT_NE(CacheKey().add("ab").add("c").finish(), CacheKey().add("a").add("bc").finish());
  EXPECT_NE(CacheKey().add("").finish(), CacheKey().finish());
  EXPECT_EQ(CacheKey().add("ab").finish(), CacheKey().add("ab").finish());
  EXPECT_EQ(key_of(1).size(), 64U);
}

TEST_F(LoadCacheTest, ADamagedFileIsNeverUsed) {
  const auto bytes = numbers(10'003, 1);
  const std::string key = key_of(1);
  LoadCache(folder_).store(key, bytes, "numbers");
  const std::string whole = read_file(entry(key));
  const size_t footer = whole.size() - load_cache::kFooterBytes;
  ASSERT_EQ(footer, 10'008U);
  const auto expect_unused = [&](const std::string& content, const std::string& what) {
    write_whole(entry(key), content);
    LoadCache cache(folder_);
    EXPECT_FALSE(cache.find(key, bytes.size())) << what;
    EXPECT_FALSE(fs::exists(entry(key))) << what;
  };
  std::vector<size_t> places = {0, 1, 4095, 4096, 5'000, 10'002, 10'003, 10'007};
  for (size_t i = footer; i < whole.size(); ++i) places.push_back(i);
  for (const size_t place : places) {
    for (const int bit : {0, 7}) {
      std::string damaged = whole;
      damaged[place] = static_cast<char>(damaged[place] ^ (1 << bit));
      expect_unused(damaged, fmt::format("bit {} of byte {}", bit, place));
    }
  }
  for (const size_t size : {size_t{0}, size_t{1}, size_t{511}, size_t{512}, size_t{4096}, footer,
                            footer + 1, whole.size() - 8, whole.size() - 1}) {
    expect_unused(whole.substr(0, size), fmt::format("cut to {}", size));
  }
  expect_unused(whole + '\0', "a byte more");
  expect_unused(std::string(1, '\0') + whole, "a byte in front");
  expect_unused(whole.substr(footer), "the footer alone");
  expect_unused(std::string(whole.size(), '\0'), "zeros, as after a power cut");
  std::string swapped = whole;
  std::swap_ranges(swapped.begin(), swapped.begin() + 64, swapped.begin() + 64);
  expect_unused(swapped, "two cache lines the other way round");
  // The entry that replaces it is valid.
  write_whole(entry(key), whole.substr(0, 100));
  const auto again = LoadCache(folder_).store(key, bytes, "numbers");
  ASSERT_TRUE(again);
  EXPECT_TRUE(same(again->bytes, bytes));
}

TEST_F(LoadCacheTest, EveryBitCounts) {
  auto bytes = numbers(200, 3);
  const uint64_t sum = load_cache::checksum_piece(bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(load_cache::checksum_piece(bytes), sum) << bit;
    // Two flips of the same bit in different words, which simple sums do not detect.
    bytes[(bit / 8 + 64) % bytes.size()] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(load_cache::checksum_piece(bytes), sum) << bit;
    bytes[(bit / 8 + 64) % bytes.size()] ^= std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_EQ(load_cache::checksum_piece(bytes), sum);
  bytes.push_back(std::byte{0});
  EXPECT_NE(load_cache::checksum_piece(bytes), sum) << "a zero more";
}

TEST_F(LoadCacheTest, AForeignOrStaleFileIsNotUsed) {
  const auto bytes = numbers(4096, 1);
  LoadCache(folder_).store(key_of(1), bytes, "");
  fs::copy_file(entry(key_of(1)), entry(key_of(2)));
  EXPECT_FALSE(LoadCache(folder_).find(key_of(2), bytes.size())) << "another entry's file";
  EXPECT_FALSE(LoadCache(folder_).find(key_of(1), bytes.size() - 1)) << "another size";

  // Valid except for the version.
  load_cache::Footer footer;
  footer.key = key_of(3);
  footer.array_bytes = bytes.size();
  footer.array_checksum = load_cache::checksum(bytes, [](size_t count, const auto& body) {
    for (size_t i = 0; i < count; ++i) body(i);
  });
  footer.version = "0.0.0";
  write_whole(entry(key_of(3)), std::string(as_text(bytes)) + load_cache::to_bytes(footer));
  const auto entries = LoadCache(folder_).entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].version, "0.0.0");
  EXPECT_TRUE(entries[0].is_valid);
  EXPECT_FALSE(LoadCache(folder_).find(key_of(3), bytes.size()));

  fs::create_directory(entry(key_of(4)));
  EXPECT_FALSE(LoadCache(folder_).find(key_of(4), bytes.size())) << "a folder";
  fs::create_symlink(entry(key_of(5)), entry(key_of(5)));
  EXPECT_FALSE(LoadCache(folder_).find(key_of(5), bytes.size())) << "a link to itself";
}

TEST_F(LoadCacheTest, WhatCannotBeWrittenCostsOneWarning) {
  write_whole(root_ / "file", "no folder");
  for (const fs::path& folder : {root_ / "file" / "cache", fs::path("/proc/self/cache")}) {
    const Warnings warnings;
    LoadCache cache(folder);
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(cache.store(key_of(i), numbers(100, 1), ""));
      EXPECT_FALSE(cache.find(key_of(i), 100));
      cache.store_alias(key_of(i), key_of(i));
      EXPECT_FALSE(cache.find_alias(key_of(i)));
    }
    EXPECT_EQ(warnings.lines().size(), 1U) << folder;
    EXPECT_TRUE(cache.entries().empty());
  }
}

// Starts a child process that runs `body`.
template <typename Body>
pid_t start(const Body& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int status = 1;
  try {
    status = body() ? 0 : 1;
  } catch (...) {
  }
  ::_exit(status);
}

int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST_F(LoadCacheTest, AFullDiskCostsOneWarningAndLeavesNothing) {
  const pid_t child = start([&] {
    ::signal(SIGXFSZ, SIG_IGN);  // writing then fails, as on a full disk
    const rlimit limit{100'000, 100'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const Warnings warnings;
    LoadCache cache(folder_);
    const bool small = cache.store(key_of(1), numbers(50'000, 1), "").has_value();
    const bool large = cache.store(key_of(2), numbers(200'000, 2), "").has_value();
    const bool after = cache.store(key_of(3), numbers(200'000, 3), "").has_value();
    return small && !large && !after && warnings.lines().size() == 1;
  });
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(count_files(folder_, ".array"), 1U);
  EXPECT_EQ(count_files(folder_, ".partial"), 0U);
}

TEST_F(LoadCacheTest, TheOldestGoFirst) {
  constexpr uint64_t kFile = 100'000 + load_cache::kFooterBytes;
  std::optional<LoadCache::Array> first;
  for (int i = 0; i < 4; ++i) {
    LoadCache cache(folder_, 4 * kFile);
    const auto array = cache.store(key_of(i), numbers(100'000, static_cast<uint64_t>(i)), "");
    ASSERT_TRUE(array);
    if (i == 0) first = array;
    fs::last_write_time(entry(key_of(i)), fs::file_time_type::clock::now() - 1h * (10 - i));
  }
  // Using the first entry makes it recent.
  EXPECT_TRUE(LoadCache(folder_, 4 * kFile).find(key_of(0), 100'000));
  LoadCache cache(folder_, 4 * kFile);
  ASSERT_TRUE(cache.store(key_of(4), numbers(100'000, 4), ""));
  EXPECT_TRUE(fs::exists(entry(key_of(0))));
  EXPECT_FALSE(fs::exists(entry(key_of(1))));
  EXPECT_TRUE(fs::exists(entry(key_of(4))));
  EXPECT_EQ(cache.entries()[0].key, key_of(4));

  // Mapped content survives the removal of its file.
  fs::last_write_time(entry(key_of(0)), fs::file_time_type::clock::now() - 100h);
  ASSERT_TRUE(cache.store(key_of(5), numbers(100'000, 5), ""));
  ASSERT_TRUE(cache.store(key_of(6), numbers(100'000, 6), ""));
  EXPECT_FALSE(fs::exists(entry(key_of(0))));
  EXPECT_TRUE(same(first->bytes, numbers(100'000, 0)));
}

TEST_F(LoadCacheTest, AModelDoesNotPushOutItsOwnArrays) {
  constexpr uint64_t kFile = 100'000 + load_cache::kFooterBytes;
  const Warnings warnings;
  LoadCache cache(folder_, 2 * kFile);
  EXPECT_TRUE(cache.store(key_of(1), numbers(100'000, 1), ""));
  EXPECT_TRUE(cache.store(key_of(2), numbers(100'000, 2), ""));
  EXPECT_FALSE(cache.store(key_of(3), numbers(100'000, 3), ""));
  EXPECT_EQ(count_files(folder_, ".array"), 2U);
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find("PIPPIN_CACHE_SIZE"), std::string::npos);
  EXPECT_FALSE(LoadCache(folder_, 1000).store(key_of(4), numbers(100'000, 4), ""));
}

TEST_F(LoadCacheTest, AliasesNameEntries) {
  LoadCache cache(folder_);
  cache.store_alias(key_of(1), key_of(2));
  EXPECT_FALSE(cache.find_alias(key_of(1))) << "nothing was stored that it could name";
  ASSERT_TRUE(cache.store(key_of(2), numbers(100, 1), ""));
  cache.store_alias(key_of(1), key_of(2));
  EXPECT_EQ(LoadCache(folder_).find_alias(key_of(1)), key_of(2));
  const fs::path path = folder_ / (key_of(1) + ".alias");
  const std::string text = read_file(path);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = damaged[i] == '0' ? '1' : '0';
    write_whole(path, damaged);
    EXPECT_FALSE(cache.find_alias(key_of(1))) << i;
    write_whole(path, text.substr(0, i));
    EXPECT_FALSE(cache.find_alias(key_of(1))) << i;
  }
}

// Keeps a folder with a file of `size` bytes, as a compiler would write it.
std::optional<fs::path> keep(LoadCache& cache, const std::string& key, size_t size) {
  const auto started = cache.start_folder(key);
  if (!started) return std::nullopt;
  fs::create_directories(*started / "m.mlmodelc" / "weights");
  write_whole(*started / "m.mlmodelc" / "weights" / "weight.bin", std::string(size, 'w'));
  return cache.keep_folder(key, *started, "a folder");
}

TEST_F(LoadCacheTest, KeepsFolders) {
  LoadCache cache(folder_);
  EXPECT_FALSE(cache.find_folder(key_of(1)));
  const auto kept = keep(cache, key_of(1), 1000);
  ASSERT_TRUE(kept);
  EXPECT_EQ(cache.find_folder(key_of(1)), kept);
  EXPECT_EQ(LoadCache(folder_).find_folder(key_of(1)), kept);
  EXPECT_EQ(fs::file_size(*kept / "m.mlmodelc/weights/weight.bin"), 1000U);
  // The second process gets the folder of the first.
  const auto first = fs::last_write_time(*kept / "m.mlmodelc/weights/weight.bin");
  LoadCache other(folder_);
  EXPECT_EQ(keep(other, key_of(1), 2000), kept);
  EXPECT_EQ(fs::last_write_time(*kept / "m.mlmodelc/weights/weight.bin"), first);
  EXPECT_EQ(count_files(folder_, ".partial"), 0U);
  ASSERT_EQ(cache.entries().size(), 1U);
  const LoadCache::Entry entry = cache.entries()[0];
  EXPECT_TRUE(entry.is_folder && entry.is_valid);
  EXPECT_EQ(entry.key, key_of(1));
  EXPECT_EQ(entry.what_of, "a folder");
  EXPECT_GT(entry.file_bytes, 1000U);
  EXPECT_LT(entry.file_bytes, 1100U);
  // A folder that was not completed does not count, and is dropped.
  fs::remove(*kept / load_cache::kAboutName);
  EXPECT_FALSE(cache.find_folder(key_of(1)));
  cache.drop_folder(key_of(1));
  EXPECT_TRUE(keep(cache, key_of(1), 10));
  EXPECT_TRUE(cache.start_folder(key_of(2)));
  EXPECT_EQ(cache.clear().entries, 1U);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(LoadCacheTest, FoldersMakeRoomAndAreRemovedForIt) {
  for (int i = 0; i < 3; ++i) {
    LoadCache cache(folder_, 35'000);
    ASSERT_TRUE(keep(cache, key_of(i), 10'000));
    fs::last_write_time(folder_ / (key_of(i) + ".folder"),
                        fs::file_time_type::clock::now() - 1h * (10 - i));
  }
  LoadCache cache(folder_, 35'000);
  ASSERT_TRUE(cache.store(key_of(9), numbers(10'000, 1), ""));
  EXPECT_FALSE(cache.find_folder(key_of(0)));
  EXPECT_TRUE(cache.find_folder(key_of(2)));
  // A folder for which there is no room remains the caller's.
  const Warnings warnings;
  LoadCache small(folder_, 1000);
  const auto started = small.start_folder(key_of(5));
  ASSERT_TRUE(started);
  write_whole(*started / "large", std::string(5000, 'x'));
  EXPECT_FALSE(small.keep_folder(key_of(5), *started, ""));
  EXPECT_TRUE(fs::exists(*started / "large"));
  EXPECT_EQ(warnings.lines().size(), 1U);
  // The next store removes the files of killed processes.
  fs::rename(*started, folder_ / ("." + key_of(5) + ".folder.999999999-0123456789abcdef.partial"));
  EXPECT_TRUE(LoadCache(folder_).store(key_of(10), numbers(10, 1), ""));
  EXPECT_EQ(count_files(folder_, ".partial"), 0U);
}

TEST_F(LoadCacheTest, ClearRemovesItsOwnAlone) {
  LoadCache cache(folder_);
  ASSERT_TRUE(cache.store(key_of(1), numbers(1000, 1), ""));
  ASSERT_TRUE(cache.store(key_of(2), numbers(1000, 2), ""));
  cache.store_alias(key_of(3), key_of(2));
  write_whole(folder_ / "notes.txt", "mine");
  write_whole(folder_ / "0123.array", "mine");
  fs::create_directories(folder_ / "sub" / "deep");
  write_whole(root_ / "outside", "mine");
  fs::create_symlink(root_ / "outside", entry(key_of(4)));
  const auto cleared = cache.clear();
  EXPECT_EQ(cleared.entries, 3U);
  EXPECT_EQ(cleared.others, 3U);
  EXPECT_GE(cleared.bytes, 2 * (1000 + load_cache::kFooterBytes));
  EXPECT_EQ(read_file(folder_ / "notes.txt"), "mine");
  EXPECT_EQ(read_file(folder_ / "0123.array"), "mine");
  EXPECT_TRUE(fs::exists(folder_ / "sub" / "deep"));
  EXPECT_EQ(read_file(root_ / "outside"), "mine");
  EXPECT_FALSE(cache.find(key_of(1), 1000));
  EXPECT_TRUE(cache.store(key_of(1), numbers(1000, 1), "")) << "it goes on afterwards";
  EXPECT_EQ(LoadCache(root_ / "absent").clear().entries, 0U);
  EXPECT_FALSE(fs::exists(root_ / "absent"));
}

TEST_F(LoadCacheTest, ProcessesShareAFolder) {
  constexpr int kProcesses = 8, kArrays = 12;
  const auto size_of = [](int i) { return static_cast<size_t>(10'000 + 77'777 * i); };
  // There is room for two thirds, so processes also evict each other's entries.
  uint64_t room = 0;
  for (int i = 0; i < kArrays; ++i) room += 2 * size_of(i) / 3;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(start([&] {
      std::mt19937 random(static_cast<unsigned>(process));
      for (int turn = 0; turn < 60; ++turn) {
        LoadCache cache(folder_, room);
        const int i = static_cast<int>(random() % kArrays);
        const auto bytes = numbers(size_of(i), static_cast<uint64_t>(i));
        auto array = cache.find(key_of(i), bytes.size());
        if (!array) array = cache.store(key_of(i), bytes, "shared");
        if (array && !same(array->bytes, bytes)) return false;
        if (turn == 30 && process == 0) cache.clear();
      }
      return true;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(count_files(folder_, ".partial"), 0U);
  LoadCache cache(folder_);
  EXPECT_FALSE(cache.entries().empty());
  for (int i = 0; i < kArrays; ++i) {
    if (!fs::exists(entry(key_of(i)))) continue;
    EXPECT_TRUE(cache.find(key_of(i), size_of(i))) << i;
  }
}

TEST_F(LoadCacheTest, AKilledProcessLeavesNothingThatIsUsed) {
  constexpr size_t kSize = 3'000'000;
  std::mt19937 random(5);
  size_t left_behind = 0;
  const auto bytes = numbers(kSize, 7);
  for (int turn = 0; turn < 40 || (left_behind == 0 && turn < 400); ++turn) {
    const pid_t child = start([&] {
      for (int64_t i = 0;; i = (i + 1) % 50) {
        LoadCache cache(folder_);
        cache.store(key_of(i), bytes, "");
      }
      return false;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
    ::kill(child, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(status_of(child)));
    if (fs::exists(folder_)) left_behind += count_files(folder_, ".partial");
  }
  LoadCache cache(folder_);
  for (const auto& entry : cache.entries()) {
    EXPECT_TRUE(entry.is_valid);
    const auto array = cache.find(entry.key, kSize);
    ASSERT_TRUE(array);
    EXPECT_TRUE(same(array->bytes, bytes));
  }
  EXPECT_GT(left_behind, 0U) << "no process was killed in the middle: the test tests nothing";
  ASSERT_TRUE(cache.store(key_of(1000), bytes, ""));
  EXPECT_EQ(count_files(folder_, ".partial"), 0U) << "what the dead left behind is still there";
}

TEST(LoadCacheSettings, FolderAndSize) {
  const auto folder = [](std::map<std::string, std::string> variables) {
    return load_cache_folder([&](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });
  };
  EXPECT_EQ(folder({{"HOME", "/home/u"}, {"PIPPIN_CACHE", "/c"}}), "/c/load");
  EXPECT_EQ(folder({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/x"}}), "/x/pippin/load");
  EXPECT_EQ(folder({{"HOME", "/home/u"}, {"PIPPIN_CACHE", ""}}), "");
  EXPECT_EQ(folder({}), "");
#if !defined(__APPLE__)
  EXPECT_EQ(folder({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", ""}}), "/home/u/.cache/pippin/load");
#endif
  const auto size = [](const char* text) {
    return load_cache_size([&](const char*) { return std::optional<std::string>(text); });
  };
  EXPECT_EQ(size(""), 0U);
  EXPECT_EQ(size("1000"), 1000U);
  EXPECT_EQ(size("20 GB"), 20'000'000'000U);
  EXPECT_EQ(size("1.5M"), 1'500'000U);
  EXPECT_EQ(size("7B"), 7U);
  for (const char* wrong : {"-1", "0", "x", "5 apples", "1e99", "5 GBx", "nan", " "}) {
    SCOPED_TRACE(wrong);
    EXPECT_ERROR(size(wrong), ErrorCode::InvalidArgument, "is not a size such as");
  }
}

}  // namespace
}  // namespace pippin
