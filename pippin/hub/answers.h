// Parses the JSON answers of the Hub's API. They are untrusted: hashes must be hashes, names must
// stay inside a folder, sizes and counts are limited.
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
  std::string git_sha1;  // of the git blob; for LFS files, of the pointer
  std::string sha256;    // of the content; LFS files only
  std::string xet_hash;  // optional, LFS files only; kept for huggingface_hub

  // The Hub's ETag, which is the blob's name in the cache.
  const std::string& etag() const { return sha256.empty() ? git_sha1 : sha256; }
};

inline constexpr uint64_t kMaxFileBytes = uint64_t{1} << 50;
inline constexpr size_t kMaxFiles = size_t{1} << 20;

// Returns the commit from the answer of /api/models/ID/revision/REV.
std::string parse_commit(const Json& answer);

// Appends the files of one page of /api/models/ID/tree/REV?recursive=true; skips folders.
void parse_tree_page(const Json& page, std::vector<RepoFile>& files);

// Returns the URL in a Link header with rel="next".
std::optional<std::string> next_link(std::string_view header);

// Returns the ETag without W/ and quotes.
std::string normalize_etag(std::string_view etag);

// Reads the tree listing that huggingface_hub keeps in its cache (trees/COMMIT.json).
std::vector<RepoFile> parse_listing(const Json& listing);
std::string write_listing(std::vector<RepoFile> files);

// Returns the files that model.safetensors.index.json names, sorted, without duplicates.
std::vector<std::string> parse_shards(const Json& index);

}  // namespace pippin::hub
