#include "pippin/hub/cache_scan.h"

#include <algorithm>
#include <map>
#include <set>

#include <sys/stat.h>

#include "pippin/base/files/file.h"
#include "pippin/hub/cache.h"
#include "pippin/hub/repo_spec.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

// Calls visit(entry) for every entry of a folder, recursively; skips entries that cannot be read or
// that vanish meanwhile.
template <typename Visit>
void visit_all(const fs::path& folder, Visit visit) {
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, error);
  while (!error && entries != fs::recursive_directory_iterator()) {
    visit(*entries);
    entries.increment(error);
  }
}

// commit -> refs
std::map<std::string, std::vector<std::string>> read_refs(const fs::path& folder) {
  std::map<std::string, std::vector<std::string>> refs;
  visit_all(folder, [&](const fs::directory_entry& entry) {
    std::error_code error;
    if (!entry.is_regular_file(error) || entry.file_size(error) > 4096 || error) return;
    std::string commit = read_file(entry.path(), 4096);
    while (commit.ends_with('\n')) commit.pop_back();
    refs[commit].push_back(entry.path().lexically_relative(folder).generic_string());
  });
  for (auto& [commit, names] : refs) std::sort(names.begin(), names.end());
  return refs;
}

// Sizes and times of files; counts each inode once.
class Usage {
 public:
  // Returns the size; 0 for a missing file.
  uint64_t add(const fs::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    const auto size = static_cast<uint64_t>(status.st_size);
    if (seen_.emplace(status.st_dev, status.st_ino).second) bytes_ += size;
    last_used_ = std::max({last_used_, status.st_atime, status.st_mtime});
    return size;
  }
  uint64_t bytes() const { return bytes_; }
  system_clock::time_point last_used() const { return system_clock::from_time_t(last_used_); }

 private:
  std::set<std::pair<dev_t, ino_t>> seen_;
  uint64_t bytes_ = 0;
  time_t last_used_ = 0;
};

CachedRepo scan_repo(const fs::path& folder, const std::string& id) {
  CachedRepo repo;
  repo.id = id;
  repo.folder = folder;
  Usage usage;
  const auto refs = read_refs(folder / "refs");
  std::error_code error;
  for (const auto& snapshot : fs::directory_iterator(folder / "snapshots", error)) {
    CachedRevision revision;
    revision.commit = snapshot.path().filename().string();
    if (!is_commit_hash(revision.commit)) continue;
    if (const auto found = refs.find(revision.commit); found != refs.end()) {
      revision.refs = found->second;
    }
    visit_all(snapshot.path(), [&](const fs::directory_entry& entry) {
      std::error_code ignored;
      if (!entry.is_regular_file(ignored)) return;
      revision.bytes += usage.add(entry.path());
      ++revision.files;
    });
    repo.revisions.push_back(std::move(revision));
  }
  std::sort(repo.revisions.begin(), repo.revisions.end(),
            [](const auto& a, const auto& b) { return a.commit < b.commit; });
  for (const auto& blob : fs::directory_iterator(folder / "blobs", error)) {
    const uint64_t bytes = usage.add(blob.path());
    if (blob.path().extension() == kIncomplete) repo.incomplete_bytes += bytes;
  }
  repo.bytes = usage.bytes();
  repo.last_used = usage.last_used();
  return repo;
}

}  // namespace

std::vector<CachedRepo> scan_cache(const fs::path& cache) {
  std::vector<CachedRepo> repos;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cache, error)) {
    const auto id = repo_of_folder(entry.path().filename().string());
    std::error_code ignored;
    if (id && entry.is_directory(ignored)) repos.push_back(scan_repo(entry.path(), *id));
  }
  std::sort(repos.begin(), repos.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return repos;
}

}  // namespace pippin::hub
