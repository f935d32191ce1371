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
  std::vector<std::string> refs;  // branches and tags that were at this commit when last asked for
  uint64_t bytes = 0;             // of its files, shared ones included
  int files = 0;
};

struct CachedRepo {
  std::string id;
  std::filesystem::path folder;
  std::vector<CachedRevision> revisions;
  uint64_t bytes = 0;             // on the disk: what revisions share once
  uint64_t incomplete_bytes = 0;  // of downloads that have not ended
  // The latest time that a file was read, as far as the file system notes it, or written.
  std::chrono::system_clock::time_point last_used{};
};

// All models in the cache, by name; none where there is no cache. Folders that are no models, and
// files that vanish meanwhile, are passed over.
std::vector<CachedRepo> scan_cache(const std::filesystem::path& cache);

struct RemoveResult {
  std::vector<std::string> commits;  // that were there
  uint64_t bytes = 0;                // of disk space that is free now
  bool whole_repo = false;
};

// Takes a revision (a branch, a tag, a commit or the unique beginning of one) out of the cache, or
// all of them where `revision` is empty: its snapshot, its refs, and the blobs that no other
// revision has. Each blob goes under the lock that downloads of it hold. Throws NotFound, Io (a
// blob that another process is just downloading), InvalidArgument for a beginning of several.
RemoveResult remove_cached(const std::filesystem::path& cache, std::string_view repo,
                           std::string_view revision);

}  // namespace pippin::hub
