// Folders that are removed again if nothing gets into them.
#pragma once

#include <filesystem>
#include <vector>

namespace pippin {

// The folders that it created. The destructor removes those that are empty, unless they are kept:
// after an error, such as that of a full disk, no folder is left that was not there before.
class CreatedFolders {
 public:
  CreatedFolders() = default;
  CreatedFolders(const CreatedFolders&) = delete;
  CreatedFolders& operator=(const CreatedFolders&) = delete;
  ~CreatedFolders();

  // Creates the folder and those above it that are missing. Throws Io.
  void create(const std::filesystem::path& folder);
  // Leaves all folders, also empty ones.
  void keep() { created_.clear(); }

 private:
  std::vector<std::filesystem::path> created_;  // outer ones first
};

}  // namespace pippin
