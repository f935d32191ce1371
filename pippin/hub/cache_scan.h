// Lists and removes the contents of the cache.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::hub {

struct CachedRevision {
  std::string commit;
  std::vector<std::string> refs;  // branches and tags at this commit when last requested
  uint64_t bytes = 0;             // of its files, including shared ones
  int files = 0;
};

struct CachedRepo {
  std::string id;
  std::filesystem::path folder;
  std::vector<CachedRevision> revisions;
  uint64_t bytes = 0;             // on disk; counts shared files once
  uint64_t incomplete_bytes = 0;  // of unfinished downloads
  // The latest access, if the file system records it, or modification of a file.
  std::chrono::system_clock::time_point last_used{};
};

// Returns all models in the cache, sorted by name; none without a cache. Skips folders that
// are not models, and files that vanish meanwhile.
std::vector<CachedRepo> scan_cache(const std::filesystem::path& cache);

struct RemoveResult {
  std::vector<std::string> commits;  // removed commits
  uint64_t bytes = 0;                // freed disk space
  bool whole_repo = false;
};

// Removes a revision (a branch, a tag, a commit or a unique prefix of one) from the cache, or all
// revisions if `revision` is empty: its snapshot, its refs, and the blobs that no other revision
// uses. Removes each blob under the lock that downloads of it hold. Throws NotFound, Io (another
// process is downloading a blob), InvalidArgument for an ambiguous prefix.
RemoveResult remove_cached(const std::filesystem::path& cache, std::string_view repo,
                           std::string_view revision);

}  // namespace pippin::hub
