// A file during its download: a prefix of its content on disk, and the checksum of this prefix.
//
// The file on disk is always a prefix of the content, however the process ends. So a download
// resumes where it stopped, ours and those of older huggingface_hub versions can continue each
// other, and no other state is stored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "pippin/base/bytes.h"
#include "pippin/hub/answers.h"
#include "pippin/io/digest.h"

namespace pippin::hub {

class PartialFile {
 public:
  // Opens or creates the file, and hashes its content; truncates it if it is longer than the final
  // content. Throws Io, and Cancelled.
  PartialFile(const std::filesystem::path& path, const RepoFile& file);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  uint64_t size() const { return size_; }
  // Throws Io if the disk is full, LimitExceeded beyond the content's size.
  void append(ByteSpan bytes);
  // Starts over, because the content is wrong.
  void restart();
  // Returns the checksum in hexadecimal digits. Call once, after the last byte.
  std::string digest() { return digest_.finish(); }
  // Syncs the file to disk, and moves it to its final name.
  void commit(const std::filesystem::path& final_path);

 private:
  void read_existing();

  std::filesystem::path path_;
  RepoFile file_;
  int fd_;
  uint64_t size_ = 0;
  Digest digest_;
};

// Returns the digest that the Hub uses for the file's content.
Digest digest_for(const RepoFile& file);
// Returns whether the file at `path` has that content.
bool has_content(const std::filesystem::path& path, const RepoFile& file);

}  // namespace pippin::hub
