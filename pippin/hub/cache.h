// One repository in huggingface_hub's cache:
//
//   <cache>/models--org--name/
//     blobs/<etag>                 contents, by their SHA-256 (LFS) or git hash
//     blobs/<etag>.incomplete      the first bytes of one: a download that can go on
//     refs/<branch or tag>         a commit's hash, without a newline
//     snapshots/<commit>/<path>    relative links into blobs/
//     trees/<commit>.json          all files of the commit, as huggingface_hub 1.x notes them
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

  // The commit of a branch or tag when it was last asked for; of a commit itself.
  std::optional<std::string> find_commit(std::string_view revision) const;
  // Nothing to do where the revision is the commit, or the note is there already.
  void write_ref(std::string_view revision, std::string_view commit) const;

  // Nothing where there is none, or none that can be read.
  std::optional<std::vector<RepoFile>> read_listing(std::string_view commit) const;
  void write_listing(std::string_view commit, const std::vector<RepoFile>& files) const;

  // Whether the snapshot has the file, with its size.
  bool has(std::string_view commit, const RepoFile& file) const;
  // Puts the file's blob, which is there, into the snapshot; where links cannot be, by moving it.
  void link(std::string_view commit, const RepoFile& file) const;

  // Tells backup programs that this is a cache.
  void tag() const;

 private:
  std::filesystem::path cache_, folder_, locks_;
};

// The whole of a small file by way of `temporary`, which has the same name each time: what a killed
// process leaves is overwritten, and never taken for something else.
void replace_file(const std::filesystem::path& path, const std::filesystem::path& temporary,
                  std::string_view content);

inline constexpr std::string_view kIncomplete = ".incomplete";

}  // namespace pippin::hub
