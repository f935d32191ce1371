// A repository in huggingface_hub's cache:
//
//   <cache>/models--org--name/
//     blobs/<etag>                 contents, by their SHA-256 (LFS) or git hash
//     blobs/<etag>.incomplete      a prefix of a blob; the download can be resumed
//     refs/<branch or tag>         a commit's hash, without a newline
//     snapshots/<commit>/<path>    relative links into blobs/
//     trees/<commit>.json          all files of the commit, in huggingface_hub 1.x's format
//   <cache>/.locks/models--org--name/<etag>.lock
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/hub/answers.h"

namespace pippin::hub {

class RepoCache {
 public:
  RepoCache(const std::filesystem::path& cache, std::string_view repo);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path blob(std::string_view etag) const;
  std::filesystem::path incomplete(std::string_view etag) const;
  std::filesystem::path lock(std::string_view etag) const;
  std::filesystem::path snapshot(std::string_view commit) const;
  std::filesystem::path pointer(std::string_view commit, std::string_view path) const;

  // Returns the commit of a branch or tag at the last request, or of a commit itself.
  std::optional<std::string> find_commit(std::string_view revision) const;
  // Does nothing if the revision is the commit, or the ref is up to date.
  void write_ref(std::string_view revision, std::string_view commit) const;

  // Returns nothing without a listing, or if it cannot be read.
  std::optional<std::vector<RepoFile>> read_listing(std::string_view commit) const;
  void write_listing(std::string_view commit, const std::vector<RepoFile>& files) const;

  // Returns whether the snapshot has the file with its size.
  bool has(std::string_view commit, const RepoFile& file) const;
  // Links the file's existing blob into the snapshot; moves it if links are not possible.
  void link(std::string_view commit, const RepoFile& file) const;

  // Writes a tag that tells backup programs that this is a cache.
  void tag() const;

 private:
  std::filesystem::path cache_, folder_, locks_;
};

// Writes a small file through `temporary`, whose name is fixed, so that a file left by a killed
// process is overwritten and never mistaken for another.
void replace_file(const std::filesystem::path& path, const std::filesystem::path& temporary,
                  std::string_view content);

inline constexpr std::string_view kIncomplete = ".incomplete";

}  // namespace pippin::hub
