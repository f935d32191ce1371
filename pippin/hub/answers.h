// What the Hub's API says, read from its JSON. None of it is trusted: hashes have to be hashes,
// names have to stay inside a folder, sizes and counts have limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::hub {

struct RepoFile {
  std::string path;  // is_safe_path()
  uint64_t size = 0;
  std::string git_sha1;  // of the git blob: for LFS files of the pointer
  std::string sha256;    // of the content; LFS files only
  std::string xet_hash;  // kept for huggingface_hub; LFS files may have one

  // What the Hub gives as ETag, which is the blob's name in the cache.
  const std::string& etag() const { return sha256.empty() ? git_sha1 : sha256; }
};

inline constexpr uint64_t kMaxFileBytes = uint64_t{1} << 50;
inline constexpr size_t kMaxFiles = size_t{1} << 20;

// The answer of /api/models/ID/revision/REV: the commit.
std::string parse_commit(const Json& answer);

// One page of /api/models/ID/tree/REV?recursive=true: appends its files (folders are left out).
void parse_tree_page(const Json& page, std::vector<RepoFile>& files);

// The URL of a Link header that says rel="next".
std::optional<std::string> next_link(std::string_view header);

// The text of an ETag header: without W/ and quotes.
std::string normalize_etag(std::string_view etag);

// huggingface_hub's own note of a tree in its cache (trees/COMMIT.json).
std::vector<RepoFile> parse_listing(const Json& listing);
std::string write_listing(std::vector<RepoFile> files);

// The files that model.safetensors.index.json names, sorted, each once.
std::vector<std::string> parse_shards(const Json& index);

}  // namespace pippin::hub
