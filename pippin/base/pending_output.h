// Where an output is built, next to its final place: in a hidden folder that is locked while its
// process lives, so that what a killed one left can be told from what another is about to finish.
//
//   .NAME.partial.x7Gq2a/output   what will have the name
//                       /old      what had it, for the moment in which the two change places
//                       /lock     the machine, by name and boot; locked (base/file_lock.h)
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/base/file_lock.h"

namespace pippin {

// A file or folder under construction at path(), on the target's disk; commit() puts it in place of
// the target, replacing what was there; destruction without commit() removes it.
class PendingOutput {
 public:
  // First removes what killed processes left for this target. What other machines are writing (a
  // network disk may not share locks), or living processes, or others are allowed to write only,
  // stays. Throws NotFound where the target's folder is not there, Io where nothing can be made in
  // it.
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
