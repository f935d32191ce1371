#include "pippin/hub/pull.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/hub/api.h"
#include "pippin/hub/cache.h"
#include "pippin/hub/destination.h"
#include "pippin/hub/download.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxIndexBytes = size_t{64} << 20;

// Returns the files of a snapshot folder, for a cache without a listing of the tree.
std::vector<RepoFile> files_in(const fs::path& folder) {
  std::vector<RepoFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;  // true for links to files
    RepoFile file;
    file.path = entry.path().lexically_relative(folder).generic_string();
    file.size = entry.file_size();
    files.push_back(std::move(file));
  }
  return files;
}

void check_unique(const std::vector<RepoFile>& files, std::string_view repo) {
  std::vector<std::string_view> paths;
  paths.reserve(files.size());
  for (const RepoFile& file : files) paths.push_back(file.path);
  std::sort(paths.begin(), paths.end());
  const auto twice = std::adjacent_find(paths.begin(), paths.end());
  if (twice != paths.end()) fail(ErrorCode::InvalidFile, "{}: it lists {} twice", repo, *twice);
}

class Puller {
 public:
  Puller(const RepoSpec& spec, const Settings& settings, const PullOptions& options)
      : spec_(spec),
        settings_(settings),
        options_(options),
        choose_(options.choose),
        cache_(settings.cache, spec.id) {
    choose_.path = spec.path;
    choose_.gguf = spec.gguf;
  }

  PullResult run() {
    const bool to_cache = options_.local_dir.empty();
    if (to_cache && (settings_.offline || options_.cached_first)) {
      if (auto result = from_cache(settings_.offline)) return *result;
    }
    if (settings_.offline) fail_offline();
    try {
      return from_server();
    } catch (const Unreachable& error) {
      // Downloads of huggingface_hub 0.x have no listing of the tree.
      auto result = to_cache ? from_cache(true) : std::nullopt;
      if (!result) throw;
      if (options_.notice) {
        options_.notice(fmt::format("{}; using {}@{} from the cache", error.what(), spec_.id,
                                    result->commit.substr(0, 8)));
      }
      return *result;
    }
  }

 private:
  PullResult from_server() {
    Connection connection(settings_, reached_, nullptr);
    std::string commit = spec_.revision;
    if (!is_commit_hash(commit)) {
      commit = fetch_commit(connection, spec_.id, spec_.revision, options_.notice);
    }
    const bool to_cache = options_.local_dir.empty();
    std::optional<std::vector<RepoFile>> noted;
    if (to_cache) noted = cache_.read_listing(commit);
    const std::vector<RepoFile> all =
        noted ? *noted : fetch_tree(connection, spec_.id, commit, options_.notice);
    check_unique(all, spec_.id);
    const Choice choice = choose_files(all, choose_, spec_.id);  // before anything is written
    if (to_cache) {
      cache_.tag();
      if (!noted) cache_.write_listing(commit, all);
    }
    const auto destination = to_cache ? cache_destination(cache_, commit)
                                      : folder_destination(options_.local_dir, commit);
    PullResult result = start(commit, destination->folder(), choice);
    result.asked = true;
    fetch(choice.files, *destination, result);
    if (!choice.index.empty()) {
      const std::vector<RepoFile> shards =
          choose_shards(all, load_index(destination->folder() / choice.index), choose_);
      fetch(shards, *destination, result);
    }
    // Last, so that until then the revision names a complete snapshot.
    if (to_cache) cache_.write_ref(spec_.revision, commit);
    return result;
  }

  // Returns nothing if something is, or may be, missing. With `lenient`, a snapshot without a
  // listing counts as complete.
  std::optional<PullResult> from_cache(bool lenient) const {
    const auto commit = cache_.find_commit(spec_.revision);
    if (!commit) return std::nullopt;
    const fs::path folder = cache_.snapshot(*commit);
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) return std::nullopt;
    const auto listing = cache_.read_listing(*commit);
    if (!listing && !lenient) return std::nullopt;
    const std::vector<RepoFile> all = listing ? *listing : files_in(folder);
    try {
      const Choice choice = choose_files(all, choose_, spec_.id);
      PullResult result = start(*commit, folder, choice);
      if (!add_cached(choice.files, result)) return std::nullopt;
      if (!choice.index.empty() &&
          !add_cached(choose_shards(all, load_index(folder / choice.index), choose_), result)) {
        return std::nullopt;
      }
      return result;
    } catch (const Error& error) {
      // Files missing in a snapshot are not an error of the repository.
      if (listing || error.code() != ErrorCode::NotFound) throw;
      return std::nullopt;
    }
  }

  bool add_cached(const std::vector<RepoFile>& files, PullResult& result) const {
    for (const RepoFile& file : files) {
      if (!cache_.has(result.commit, file)) return false;
      add(file, result);
    }
    return true;
  }

  static Json load_index(const fs::path& path) {
    JsonLimits limits;
    limits.max_bytes = kMaxIndexBytes;
    return Json::load(path, limits);
  }

  static PullResult start(const std::string& commit, const fs::path& folder, const Choice& choice) {
    PullResult result;
    result.commit = commit;
    result.folder = folder;
    result.packages = choice.packages;
    return result;
  }

  static void add(const RepoFile& file, PullResult& result) {
    result.files.push_back(file);
    result.bytes += file.size;
  }

  void fetch(const std::vector<RepoFile>& files, const Destination& destination,
             PullResult& result) {
    DownloadOptions options;
    options.repo = spec_.id;
    options.commit = result.commit;
    options.connections = options_.connections;
    options.progress = options_.progress;
    options.notice = options_.notice;
    result.received += download(files, destination, settings_, options, reached_).received;
    for (const RepoFile& file : files) add(file, result);
  }

  [[noreturn]] void fail_offline() const {
    fail(ErrorCode::NotFound,
         "HF_HUB_OFFLINE is set, and {}@{} is not, or not all, in the cache ({})", spec_.id,
         spec_.revision, settings_.cache.string());
  }

  const RepoSpec& spec_;
  const Settings& settings_;
  const PullOptions& options_;
  ChooseOptions choose_;
  RepoCache cache_;
  std::atomic<bool> reached_ = false;  // some server has answered
};

}  // namespace

PullResult pull(const RepoSpec& spec, const Settings& settings, const PullOptions& options) {
  return Puller(spec, settings, options).run();
}

}  // namespace pippin::hub
