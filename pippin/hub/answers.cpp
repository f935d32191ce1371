#include "pippin/hub/answers.h"

#include <algorithm>
#include <cctype>

#include "pippin/base/error.h"
#include "pippin/hub/repo_spec.h"

namespace pippin::hub {
namespace {

constexpr int64_t kListingVersion = 1;

void check_file(const RepoFile& file, const Json& where) {
  if (!is_safe_path(file.path))
    where.invalid("a file name that leaves its folder, or cannot be one");
  if (!is_commit_hash(file.git_sha1)) where.invalid("a file without a git hash");
  if (!file.sha256.empty() && !is_sha256(file.sha256)) where.invalid("an invalid SHA-256");
  if (!file.xet_hash.empty() && !is_sha256(file.xet_hash)) where.invalid("an invalid Xet hash");
  if (file.size > kMaxFileBytes) where.invalid("a size that no file has");
}

void add_file(std::vector<RepoFile>& files, RepoFile file, const Json& where) {
  check_file(file, where);
  if (files.size() >= kMaxFiles) {
    fail(ErrorCode::LimitExceeded, "{}: more than {} files", where.where(), kMaxFiles);
  }
  files.push_back(std::move(file));
}

uint64_t size_of(const Json& object, std::string_view key) {
  return static_cast<uint64_t>(object.get_int_between(key, 0, static_cast<int64_t>(kMaxFileBytes)));
}

}  // namespace

std::string parse_commit(const Json& answer) {
  std::string commit = answer.get_string("sha");
  if (!is_commit_hash(commit)) answer.at("sha").invalid("no commit hash");
  return commit;
}

void parse_tree_page(const Json& page, std::vector<RepoFile>& files) {
  for (const Json& entry : page.elements()) {
    if (entry.at("type").as_string() != "file") continue;
    RepoFile file;
    file.path = entry.get_string("path");
    file.size = size_of(entry, "size");
    file.git_sha1 = entry.get_string("oid");
    if (const auto lfs = entry.find("lfs")) {
      // Early answers named it sha256 instead of oid.
      file.sha256 = lfs->has("oid") ? lfs->get_string("oid") : lfs->get_string("sha256");
      file.size = size_of(*lfs, "size");
      if (file.sha256.empty()) lfs->invalid("no oid");
    }
    file.xet_hash = entry.get_string_or("xetHash", "");
    add_file(files, std::move(file), entry);
  }
}

std::optional<std::string> next_link(std::string_view header) {
  while (!header.empty()) {
    const size_t open = header.find('<');
    if (open == std::string_view::npos) return std::nullopt;
    const size_t close = header.find('>', open);
    if (close == std::string_view::npos) return std::nullopt;
    const size_t next = header.find(",<", close);
    const size_t spaced = header.find(", <", close);
    const size_t end = std::min({next, spaced, header.size()});
    std::string parameters(header.substr(close + 1, end - close - 1));
    std::erase_if(parameters, [](char c) { return c == '"' || c == ' '; });
    std::transform(parameters.begin(), parameters.end(), parameters.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if ((parameters + ";").find(";rel=next;") != std::string::npos) {
      return std::string(header.substr(open + 1, close - open - 1));
    }
    header.remove_prefix(end);
    if (!header.empty()) header.remove_prefix(1);
  }
  return std::nullopt;
}

std::string normalize_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  while (etag.starts_with('"')) etag.remove_prefix(1);
  while (etag.ends_with('"')) etag.remove_suffix(1);
  return std::string(etag);
}

std::vector<RepoFile> parse_listing(const Json& listing) {
  if (listing.get_int("format_version") != kListingVersion) {
    fail(ErrorCode::Unsupported, "{}: another version than {}", listing.where(), kListingVersion);
  }
  std::vector<RepoFile> files;
  for (const auto& [path, entry] : listing.at("files").members()) {
    RepoFile file;
    file.path = path;
    file.size = size_of(entry, "size");
    file.git_sha1 = entry.get_string("blob_id");
    file.sha256 = entry.get_string_or("lfs_sha256", "");
    if (!file.sha256.empty() && entry.has("lfs_size")) file.size = size_of(entry, "lfs_size");
    file.xet_hash = entry.get_string_or("xet_hash", "");
    add_file(files, std::move(file), entry);
  }
  return files;
}

std::string write_listing(std::vector<RepoFile> files) {
  std::sort(files.begin(), files.end(),
            [](const RepoFile& a, const RepoFile& b) { return a.path < b.path; });
  JsonWriter writer(1);
  writer.begin_object().member("format_version", kListingVersion).key("files").begin_object();
  for (const RepoFile& file : files) {
    writer.key(file.path).begin_object();
    writer.member("size", file.size).member("blob_id", file.git_sha1);
    if (!file.sha256.empty()) {
      writer.member("lfs_sha256", file.sha256).member("lfs_size", file.size);
    }
    if (!file.xet_hash.empty()) writer.member("xet_hash", file.xet_hash);
    writer.end_object();
  }
  writer.end_object().end_object();
  return writer.text();
}

std::vector<std::string> parse_shards(const Json& index) {
  std::vector<std::string> shards;
  for (const auto& [name, file] : index.at("weight_map").members()) {
    shards.emplace_back(file.as_string());
    if (!is_safe_path(shards.back())) file.invalid("a file name that leaves its folder");
  }
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  return shards;
}

}  // namespace pippin::hub
