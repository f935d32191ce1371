// The files of clients, on disk:
//
//   FOLDER/file-0123.../file.json   its record
//                      /content
//
// A file appears complete, by a rename of its folder, and is on the disk when add() returns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/files/output.h"
#include "pippin/server/stored_file.h"

namespace pippin::server {

// Thread-safe. The folder belongs to this object alone.
class FileStore {
 public:
  // `limit`: total bytes of uploads. Creates the folder; removes unfinished files of a process that
  // was killed. Throws Io.
  FileStore(std::filesystem::path folder, uint64_t limit);

  // Stores a client's file under a new id. Throws ApiError(507) if it would exceed the limit or the
  // disk is full; then nothing of it is kept.
  StoredFile upload(StoredFile file, std::string_view content);
  // Stores the file that `write` writes, under its id, regardless of the limit. If it is there
  // already, it stays. Throws Io, and the errors of `write`.
  StoredFile add(StoredFile file, const std::function<void(FileWriter& out)>& write);

  // These ignore expired files. Any text may be an id.
  std::optional<StoredFile> find(const std::string& id) const;
  std::vector<StoredFile> list() const;  // in the order of their creation
  // Throws Io. Returns nothing if the file is not there.
  std::optional<std::string> read(const std::string& id) const;
  // Makes `target` another name of the content, which outlives the file. Throws Io; returns false
  // if the file is not there.
  bool link(const std::string& id, const std::filesystem::path& target) const;
  bool remove(const std::string& id);
  void remove_expired();

  // Returns whether the text is the form of an id.
  static bool is_id(std::string_view text);
  static constexpr std::string_view kPrefix = "file-";

 private:
  std::filesystem::path content_of(const std::string& id) const;
  void load();

  const std::filesystem::path folder_;
  const uint64_t limit_;
  mutable std::mutex mutex_;  // guards the members below
  std::map<std::string, StoredFile> files_;
  uint64_t bytes_ = 0;  // of all files, and of uploads under way
};

}  // namespace pippin::server
