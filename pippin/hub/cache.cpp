#include "pippin/hub/cache.h"

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/hub/repo_spec.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCacheTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file is a cache directory tag (https://bford.info/cachedir/).\n";

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(ErrorCode::Io, "{}: cannot be made: {}", path.string(), error.message());
}

bool same_content(const fs::path& path, std::string_view content) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || fs::file_size(path, ignored) != content.size()) {
    return false;
  }
  return read_file(path) == content;
}

// Returns "../../blobs/X" for a pointer `depth` folders below snapshots/.
fs::path link_target(const fs::path& blob, const fs::path& pointer) {
  return blob.lexically_relative(pointer.parent_path());
}

}  // namespace

void replace_file(const fs::path& path, const fs::path& temporary, std::string_view content) {
  make_folder(path.parent_path());
  make_folder(temporary.parent_path());
  {
    FileWriter writer(temporary);
    writer.write(content);
    writer.close();
  }
  std::error_code error;
  fs::rename(temporary, path, error);
  // Another process may have put the same file in place.
  if (error && !same_content(path, content)) {
    fail(ErrorCode::Io, "{}: cannot be put in place: {}", path.string(), error.message());
  }
}

RepoCache::RepoCache(const fs::path& cache, std::string_view repo)
    : cache_(cache),
      folder_(cache / repo_folder_name(repo)),
      locks_(cache / ".locks" / repo_folder_name(repo)) {}

fs::path RepoCache::blob(std::string_view etag) const {
  return folder_ / "blobs" / etag;
}

fs::path RepoCache::incomplete(std::string_view etag) const {
  return folder_ / "blobs" / (std::string(etag) + std::string(kIncomplete));
}

fs::path RepoCache::lock(std::string_view etag) const {
  return locks_ / (std::string(etag) + ".lock");
}

fs::path RepoCache::snapshot(std::string_view commit) const {
  return folder_ / "snapshots" / commit;
}

fs::path RepoCache::pointer(std::string_view commit, std::string_view path) const {
  if (!is_safe_path(path)) fail(ErrorCode::InvalidArgument, "\"{}\" is not a file name", path);
  return snapshot(commit) / path;
}

std::optional<std::string> RepoCache::find_commit(std::string_view revision) const {
  if (is_commit_hash(revision)) return std::string(revision);
  const fs::path ref = folder_ / "refs" / revision;
  std::error_code ignored;
  if (!is_safe_revision(revision) || !fs::is_regular_file(ref, ignored)) return std::nullopt;
  std::string commit = read_file(ref, 4096);
  while (commit.ends_with('\n')) commit.pop_back();
  if (!is_commit_hash(commit)) return std::nullopt;
  return commit;
}

void RepoCache::write_ref(std::string_view revision, std::string_view commit) const {
  if (revision == commit) return;
  if (!is_safe_revision(revision)) {
    fail(ErrorCode::InvalidArgument, "\"{}\" is not a branch, tag or commit", revision);
  }
  const fs::path path = folder_ / "refs" / revision;
  if (same_content(path, commit)) return;
  // The temporary file is elsewhere, because every file in refs/ is a ref.
  replace_file(path, incomplete(std::string(commit) + ".ref"), commit);
}

std::optional<std::vector<RepoFile>> RepoCache::read_listing(std::string_view commit) const {
  const fs::path path = folder_ / "trees" / (std::string(commit) + ".json");
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  try {
    return parse_listing(Json::load(path));
  } catch (const Error&) {
    return std::nullopt;  // another version's listing; the server will provide one
  }
}

void RepoCache::write_listing(std::string_view commit, const std::vector<RepoFile>& files) const {
  const std::string content = hub::write_listing(files);
  const fs::path path = folder_ / "trees" / (std::string(commit) + ".json");
  replace_file(path, incomplete(std::string(commit) + ".tree"), content);
}

bool RepoCache::has(std::string_view commit, const RepoFile& file) const {
  std::error_code error;
  const fs::path path = pointer(commit, file.path);
  const uint64_t size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
  return !error && fs::is_regular_file(path, error) && size == file.size;
}

void RepoCache::link(std::string_view commit, const RepoFile& file) const {
  const fs::path path = pointer(commit, file.path);
  const fs::path from = blob(file.etag());
  const fs::path target = link_target(from, path);
  make_folder(path.parent_path());
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(path, error)) && fs::read_symlink(path, error) == target) {
    return;
  }
  fs::remove(path, error);
  fs::create_symlink(target, path, error);
  if (!error || has(commit, file)) return;
  if (error == std::errc::operation_not_permitted || error == std::errc::not_supported ||
      error == std::errc::operation_not_supported || error == std::errc::function_not_supported) {
    fs::rename(from, path, error);
  }
  if (error) fail(ErrorCode::Io, "{}: cannot be made: {}", path.string(), error.message());
}

void RepoCache::tag() const {
  const fs::path path = cache_ / "CACHEDIR.TAG";
  std::error_code ignored;
  if (fs::exists(path, ignored)) return;
  replace_file(path, folder_ / "blobs" / "cachedir-tag.incomplete", kCacheTag);
}

}  // namespace pippin::hub
