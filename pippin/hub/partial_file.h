// A file that is being downloaded: its first bytes on disk, and the checksum of just these.
//
// The bytes on disk are always a prefix of the content, whatever ends the process: so a download
// goes on where it stopped, huggingface_hub's older versions can go on with ours and we with
// theirs, and no other note is needed.
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
  // Opens or makes the file, and reads what it has to get the checksum up to date; more bytes than
  // the content has are cut off. Throws Io, and Cancelled.
  PartialFile(const std::filesystem::path& path, const RepoFile& file);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  uint64_t size() const { return size_; }
  // Throws Io where the disk is full, LimitExceeded beyond the content's size.
  void append(ByteSpan bytes);
  // Starts over: the content is wrong.
  void restart();
  // All bytes are there: the checksum in hexadecimal digits, once.
  std::string digest() { return digest_.finish(); }
  // On the disk for good, under its final name.
  void commit(const std::filesystem::path& final_path);

 private:
  void read_existing();

  std::filesystem::path path_;
  RepoFile file_;
  int fd_;
  uint64_t size_ = 0;
  Digest digest_;
};

// The checksum by which the Hub knows a file's content.
Digest digest_for(const RepoFile& file);
// Whether the file has that content.
bool has_content(const std::filesystem::path& path, const RepoFile& file);

}  // namespace pippin::hub
