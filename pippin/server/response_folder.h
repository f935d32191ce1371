// Stored responses on disk: DIR/responses/ID.json. Several processes may share a folder: files
// appear complete or not at all, and a deleted file is a miss.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace pippin::server {

// One thread writes and removes; any thread may read.
class ResponseFolder {
 public:
  // `limit`: total bytes of the files. Creates the folder, with access for its owner only. Throws
  // Io.
  ResponseFolder(const std::filesystem::path& folder, uint64_t limit);

  // Throws Io. Removes the least recently used files if the limit is exceeded.
  void write(const std::string& id, const std::string& text);
  std::optional<std::string> read(const std::string& id) const;
  bool has(const std::string& id) const;
  void remove(const std::string& id);

 private:
  std::filesystem::path path_of(const std::string& id) const;
  void trim();

  const std::filesystem::path folder_;
  const uint64_t limit_;
  uint64_t bytes_ = 0;  // as far as this process knows
};

}  // namespace pippin::server
