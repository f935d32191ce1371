#include <algorithm>
#include <set>

#include "pippin/base/error.h"
#include "pippin/base/files/file_lock.h"
#include "pippin/hub/cache.h"
#include "pippin/hub/cache_scan.h"
#include "pippin/hub/repo_spec.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

// Returns the names of the blobs that the snapshot links to; files that are not links belong to the
// snapshot alone.
std::set<std::string> linked_blobs(const fs::path& snapshot) {
  std::set<std::string> blobs;
  std::error_code error;
  fs::recursive_directory_iterator entries(snapshot, error);
  while (!error && entries != fs::recursive_directory_iterator()) {
    std::error_code ignored;
    if (entries->is_symlink(ignored)) {
      const fs::path target = fs::read_symlink(entries->path(), ignored);
      if (target.parent_path().filename() == "blobs") blobs.insert(target.filename().string());
    }
    entries.increment(error);
  }
  return blobs;
}

class Remover {
 public:
  Remover(const fs::path& cache, std::string_view repo) : cache_(cache, repo), id_(repo) {
    std::error_code ignored;
    if (!fs::is_directory(cache_.folder(), ignored)) {
      fail(ErrorCode::NotFound, "{} is not in the cache ({})", repo, cache.string());
    }
  }

  RemoveResult run(std::string_view revision) {
    check_idle();
    const std::vector<std::string> all = commits();
    RemoveResult result;
    result.commits = revision.empty() ? all : std::vector<std::string>{find(all, revision)};
    result.whole_repo = result.commits.size() == all.size();

    std::set<std::string> blobs;
    for (const std::string& commit : result.commits) {
      blobs.merge(linked_blobs(cache_.snapshot(commit)));
    }
    if (result.whole_repo) blobs.merge(all_blobs());
    // Removes refs before their targets, so that an incomplete revision never looks complete.
    for (const std::string& commit : result.commits) {
      remove_refs(commit);
      result.bytes += own_bytes(cache_.snapshot(commit));
      remove(cache_.snapshot(commit));
      remove(cache_.folder() / "trees" / (commit + ".json"));
      remove(cache_.folder() / ".no_exist" / commit);
    }
    for (const std::string& blob : blobs) result.bytes += remove_blob(blob);
    if (result.whole_repo) remove_rest();
    return result;
  }

 private:
  std::vector<std::string> commits() const {
    std::vector<std::string> all;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(cache_.folder() / "snapshots", error)) {
      std::string name = entry.path().filename().string();
      if (is_commit_hash(name)) all.push_back(std::move(name));
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  std::string find(const std::vector<std::string>& all, std::string_view revision) const {
    if (const auto commit = cache_.find_commit(revision)) {
      if (std::find(all.begin(), all.end(), *commit) != all.end()) return *commit;
    }
    std::vector<std::string> fitting;
    for (const std::string& commit : all) {
      if (revision.size() >= 4 && commit.starts_with(revision)) fitting.push_back(commit);
    }
    if (fitting.size() > 1) {
      fail(ErrorCode::InvalidArgument, "{}: {} and {} begin with {}", id_, fitting[0], fitting[1],
           revision);
    }
    if (fitting.empty()) fail(ErrorCode::NotFound, "{}@{} is not in the cache", id_, revision);
    return fitting[0];
  }

  // Checks, before anything is removed, that no process is downloading into the repository.
  void check_idle() const {
    for (const std::string& name : all_blobs()) {
      std::error_code ignored;
      if (!fs::exists(cache_.incomplete(name), ignored)) continue;
      if (!FileLock::try_lock(cache_.lock(name))) {
        fail(ErrorCode::Io, "{}: another process is downloading it; nothing is removed", id_);
      }
    }
  }

  std::set<std::string> all_blobs() const {
    std::set<std::string> blobs;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(cache_.folder() / "blobs", error)) {
      std::string name = entry.path().filename().string();
      if (name.ends_with(kIncomplete)) name.resize(name.size() - kIncomplete.size());
      blobs.insert(std::move(name));
    }
    return blobs;
  }

  void remove_refs(const std::string& commit) const {
    const fs::path folder = cache_.folder() / "refs";
    std::vector<fs::path> found;
    std::error_code error;
    fs::recursive_directory_iterator entries(folder, error);
    while (!error && entries != fs::recursive_directory_iterator()) {
      const std::string name = entries->path().lexically_relative(folder).generic_string();
      if (!is_commit_hash(name) && cache_.find_commit(name) == commit) {
        found.push_back(entries->path());
      }
      entries.increment(error);
    }
    for (const fs::path& path : found) remove(path);
  }

  // Returns the size of the snapshot's files that are not links.
  static uint64_t own_bytes(const fs::path& snapshot) {
    uint64_t bytes = 0;
    std::error_code error;
    fs::recursive_directory_iterator entries(snapshot, error);
    while (!error && entries != fs::recursive_directory_iterator()) {
      std::error_code ignored;
      if (!entries->is_symlink(ignored) && entries->is_regular_file(ignored)) {
        bytes += entries->file_size(ignored);
      }
      entries.increment(error);
    }
    return bytes;
  }

  static void remove(const fs::path& path) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) fail(ErrorCode::Io, "{}: cannot be removed: {}", path.string(), error.message());
  }

  // Holds the lock that downloads of the blob hold: a blob that is linked by now stays, and later
  // processes see that it is gone.
  uint64_t remove_blob(const std::string& name) const {
    const auto lock = FileLock::try_lock(cache_.lock(name));
    if (!lock) {
      fail(ErrorCode::Io, "{}: another process has just begun to use it; the rest is removed",
           cache_.blob(name).string());
    }
    for (const std::string& commit : commits()) {
      if (linked_blobs(cache_.snapshot(commit)).contains(name)) return 0;
    }
    uint64_t bytes = 0;
    for (const fs::path& path : {cache_.blob(name), cache_.incomplete(name)}) {
      std::error_code error;
      const uint64_t size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
      if (!error) bytes += size;
      remove(path);
    }
    return bytes;
  }

  // Removes empty folders; the whole repository, unless a process has started to use it again.
  void remove_rest() const {
    std::error_code ignored;
    for (const char* name : {".no_exist", "trees"}) remove(cache_.folder() / name);
    const fs::path refs = cache_.folder() / "refs";
    if (fs::is_empty(cache_.folder() / "snapshots", ignored)) remove(refs);
    for (const char* name : {"blobs", "snapshots"}) fs::remove(cache_.folder() / name, ignored);
    fs::remove(cache_.folder(), ignored);
  }

  RepoCache cache_;
  std::string id_;
};

}  // namespace

RemoveResult remove_cached(const fs::path& cache, std::string_view repo,
                           std::string_view revision) {
  return Remover(cache, repo).run(revision);
}

}  // namespace pippin::hub
