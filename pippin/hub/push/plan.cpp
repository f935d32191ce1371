#include "pippin/hub/push/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "pippin/hub/glob.h"

namespace pippin::hub {
namespace {

// Computes hashes, or finds them in the notes, with progress over all of them.
class Hasher {
 public:
  Hasher(const PushOptions& options, const PushNotes& notes, uint64_t total)
      : options_(options), notes_(notes), total_(total) {}

  std::string sha256(const LocalFile& file) {
    if (auto noted = notes_.find_hash(file)) {
      add(file.size);
      return *noted;
    }
    std::string hash = sha256_of(file, [&](uint64_t bytes) { add(bytes); });
    notes_.note_hash(file, hash);
    return hash;
  }
  std::string git_hash(const LocalFile& file) {
    return git_hash_of(file, [&](uint64_t bytes) { add(bytes); });
  }

 private:
  void add(uint64_t bytes) {
    done_ += bytes;
    if (options_.progress) options_.progress("Hashing", done_, total_);
  }
  const PushOptions& options_;
  const PushNotes& notes_;
  const uint64_t total_;
  uint64_t done_ = 0;
};

// Returns "a/X.mlpackage/" for paths in such a package; empty for others.
std::string package_of(const std::string& path) {
  for (size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (folder.ends_with(".mlpackage") || folder.ends_with(".mlmodelc")) return folder + "/";
  }
  return "";
}

}  // namespace

std::vector<std::string> paths_to_delete(const PushOptions& options,
                                         const std::vector<LocalFile>& files,
                                         const std::vector<RepoFile>& there) {
  std::set<std::string> pushed, packages;
  for (const LocalFile& file : files) {
    pushed.insert(file.path);
    if (auto package = package_of(file.path); !package.empty()) packages.insert(package);
  }
  if (!options.include.empty() || !options.exclude.empty()) packages.clear();
  std::vector<std::string> paths;
  for (const RepoFile& file : there) {
    if (pushed.contains(file.path)) continue;
    if (any_glob_matches(options.remove, file.path) || packages.contains(package_of(file.path))) {
      paths.push_back(file.path);
    }
  }
  return paths;
}

PushPlan plan_push(Connection& connection, const PushOptions& options, const std::string& repo,
                   const std::string& revision, const std::vector<LocalFile>& files,
                   const std::vector<RepoFile>& there, const PushNotes& notes) {
  using Change = PushedFile::Change;
  std::map<std::string_view, const RepoFile*> remote;
  std::map<std::string, uint64_t> sizes;
  for (const RepoFile& file : there) {
    remote[file.path] = &file;
    sizes[file.path] = file.size;
  }
  const auto twin = [&](const LocalFile& file) -> const RepoFile* {
    const auto found = remote.find(file.path);
    return found != remote.end() && found->second->size == file.size ? found->second : nullptr;
  };
  uint64_t to_compare = 0;
  for (const LocalFile& file : files) to_compare += twin(file) != nullptr ? file.size : 0;
  Hasher comparing(options, notes, to_compare);
  PushPlan plan;
  std::vector<LocalFile> different;
  std::map<std::string, std::string> hashes;  // SHA-256 by path
  for (const LocalFile& file : files) {
    const RepoFile* same = twin(file);
    bool is_same = false;
    if (same != nullptr && !same->sha256.empty()) {
      hashes[file.path] = comparing.sha256(file);
      is_same = hashes[file.path] == same->sha256;
    } else if (same != nullptr) {
      is_same = comparing.git_hash(file) == same->git_sha1;
    }
    if (is_same) {
      plan.files.push_back({file.path, file.size, Change::Same});
    } else {
      different.push_back(file);
    }
  }
  const auto told =
      preupload(connection, repo, revision, options.creates_pr, different, options.notice);
  uint64_t to_hash = 0;
  for (size_t i = 0; i < different.size(); ++i) {
    const bool known = hashes.contains(different[i].path);
    if (told[i].is_lfs && !told[i].is_ignored && !known) to_hash += different[i].size;
  }
  Hasher hashing(options, notes, to_hash);
  for (size_t i = 0; i < different.size(); ++i) {
    const LocalFile& file = different[i];
    if (told[i].is_ignored) {
      plan.files.push_back({file.path, file.size, Change::Ignored});
      continue;
    }
    plan.bytes += file.size;
    plan.files.push_back({file.path, file.size, told[i].is_lfs ? Change::Lfs : Change::Regular});
    if (told[i].is_lfs) {
      const auto known = hashes.find(file.path);
      plan.lfs.push_back({file, known != hashes.end() ? known->second : hashing.sha256(file)});
    } else {
      plan.regular.push_back(file);
    }
  }
  plan.deleted = paths_to_delete(options, files, there);
  for (const std::string& path : plan.deleted) {
    plan.files.push_back({path, sizes[path], Change::Deleted});
  }
  std::sort(plan.files.begin(), plan.files.end(),
            [](const PushedFile& a, const PushedFile& b) { return a.path < b.path; });
  return plan;
}

}  // namespace pippin::hub
