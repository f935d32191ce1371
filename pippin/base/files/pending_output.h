// Builds an output next to its final place, in a hidden folder that is locked while its process
// lives, so that leftovers of killed processes are distinguishable from work in progress.
//
//   .NAME.partial.x7Gq2a/output   the new content
//                       /old      the old content, while the two change places
//                       /lock     the machine, by name and boot; locked (base/files/file_lock.h)
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/base/files/file_lock.h"

namespace pippin {

// A file or folder under construction at path(), on the target's disk. commit() moves it to the
// target and replaces the old content; destruction without commit() removes it.
class PendingOutput {
 public:
  // First removes leftovers of killed processes for this target. Keeps folders of living processes,
  // of other machines (a network disk may not share locks), and those that the user may not modify.
  // Throws NotFound if the target's folder does not exist, InvalidArgument if the target is a
  // device, pipe or socket, Io if nothing can be created in the folder.
  explicit PendingOutput(std::filesystem::path target);
  PendingOutput(const PendingOutput&) = delete;
  PendingOutput& operator=(const PendingOutput&) = delete;
  ~PendingOutput();

  const std::filesystem::path& path() const { return path_; }
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path folder_;  // empty: committed
  std::filesystem::path path_;    // in the folder
  std::optional<FileLock> lock_;
};

}  // namespace pippin
