// Downloads a repository into a folder, for `pippin pull` and every command whose MODEL is
// org/name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pippin/hub/choose.h"
#include "pippin/hub/connection.h"
#include "pippin/hub/repo_spec.h"
#include "pippin/hub/settings.h"

namespace pippin::hub {

struct PullOptions {
  ChooseOptions choose;             // choose.path comes from the RepoSpec
  std::filesystem::path local_dir;  // empty: the cache
  // Use the cache without asking the server if nothing is missing.
  bool cached_first = false;
  int connections = 6;
  std::function<void(uint64_t done, uint64_t total)> progress;
  Notice notice;
};

struct PullResult {
  std::string commit;
  std::filesystem::path folder;       // the snapshot, or local_dir
  std::vector<RepoFile> files;        // chosen files, all present
  std::vector<std::string> packages;  // relative to folder; none for a checkpoint
  uint64_t bytes = 0;                 // of files
  uint64_t received = 0;              // from the network
  bool asked = false;                 // false: the server was not needed, or not reachable
};

// If offline, or if the server cannot be reached, uses the snapshot in the cache, provided it is
// complete. Throws NotFound, Network (api.h), Io, InvalidArgument, Cancelled, LimitExceeded.
PullResult pull(const RepoSpec& spec, const Settings& settings, const PullOptions& options);

}  // namespace pippin::hub
