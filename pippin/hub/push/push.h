// Pushes files to a repository of the Hub, for `pippin push`: contents first, then one commit, so
// that the repository has all of the push or nothing of it, however it ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pippin/hub/connection.h"
#include "pippin/hub/push/notes.h"
#include "pippin/hub/settings.h"

namespace pippin::hub {

struct PushOptions {
  std::filesystem::path source;  // a file, a package or a folder
  std::string repo;              // org/name; a name alone is one of the token's user
  // A branch, which is created if it is missing, or refs/pr/N.
  std::string revision = "main";
  std::string path_in_repo;
  std::vector<std::string> include, exclude;
  // Globs of files in the repository to delete if the push does not have them. Of the packages in
  // the push, such files are always deleted.
  std::vector<std::string> remove;
  std::optional<bool> is_private;  // of a new repository, private if unset
  bool creates_pr = false, dry_run = false;
  std::string summary, description;  // of the commit; empty: "Push NAME with pippin"
  int connections = 4;
  // The stage ("Hashing", "Uploading") and its bytes.
  std::function<void(const char* stage, uint64_t done, uint64_t total)> progress;
  Notice notice;
};

struct PushedFile {
  enum class Change : uint8_t {
    Same,     // the repository has it
    Regular,  // part of the commit itself
    Lfs,      // an LFS object
    New,      // of a dry run for a repository that does not exist
    Ignored,  // by the repository's .gitignore
    Deleted,
  };
  std::string path;
  uint64_t size = 0;
  Change change = Change::Same;
};
const char* to_string(PushedFile::Change change);  // "same", "regular", "lfs", ...

struct PushResult {
  std::string repo, revision;
  // The new commit, or the head if nothing had to change; empty: the repository does not exist.
  std::string commit, url, pull_request;
  bool creates_repo = false, creates_branch = false;  // also of a dry run
  bool is_private = false;
  bool has_committed = false;
  std::vector<PushedFile> files;
  uint64_t bytes = 0;  // of the files that change
  uint64_t sent = 0;   // of LFS objects
};

// Throws InvalidArgument, NotFound, Network with the server's message, Io, Unsupported, Cancelled.
PushResult push(const PushOptions& options, const Settings& settings, const PushNotes& notes);

}  // namespace pippin::hub
