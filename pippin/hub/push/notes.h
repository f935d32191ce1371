// Notes of interrupted pushes in the user's cache, not in the folder that is pushed: the hashes of
// large files, and the parts of a file that the server has.
//
//   ~/.cache/pippin/push/<key>.json
//
// Notes only save time: without them, or if they cannot be written, a push starts over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pippin/hub/push/local_files.h"

namespace pippin::hub {

// Thread-safe.
class PushNotes {
 public:
  // With an empty path, nothing is noted. Removes notes older than a month.
  explicit PushNotes(std::filesystem::path folder);
  // In the folder of the load cache's parent (PIPPIN_CACHE, XDG_CACHE_HOME).
  static PushNotes of_user();

  // The SHA-256 of a file with the same path, size and time.
  std::optional<std::string> find_hash(const LocalFile& file) const;
  // Notes it if the file is large enough to be worth it.
  void note_hash(const LocalFile& file, const std::string& sha256) const;

  // An upload in parts (UploadAction): where the parts go, and the ETags of those that arrived (""
  // for others).
  struct Parts {
    std::string href;
    uint64_t part_bytes = 0;
    std::vector<std::string> urls, etags;
  };
  // `where` names the server and the repository.
  std::optional<Parts> find_parts(const std::string& where, const std::string& sha256) const;
  void note_parts(const std::string& where, const std::string& sha256, const Parts& parts) const;
  void forget_parts(const std::string& where, const std::string& sha256) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace pippin::hub
