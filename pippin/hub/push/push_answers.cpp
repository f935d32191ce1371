#include "pippin/hub/push/push_answers.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/hub/answers.h"
#include "pippin/hub/repo_spec.h"
#include "pippin/hub/url.h"

namespace pippin::hub {
namespace {

constexpr size_t kMaxParts = 100'000;  // S3 allows 10,000

std::string url_of(const Json& object, std::string_view key) {
  std::string text = object.get_string(key);
  if (!parse_url(text)) object.at(key).invalid("not an http or https URL");
  return text;
}

// A header may hold any printable text, and nothing that ends it.
void add_header(std::vector<std::string>& headers, std::string_view name, const Json& value) {
  std::string line = fmt::format("{}: {}", name, value.as_string());
  const bool printable =
      std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c != 0x7f; });
  if (!printable || name.empty() || name.find(':') != std::string_view::npos) {
    value.invalid("not a header");
  }
  headers.push_back(std::move(line));
}

std::optional<size_t> part_number(std::string_view key) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error != std::errc() || end != key.data() + key.size() || key.empty()) return std::nullopt;
  return number;
}

// "chunk_size" and a URL for each number: "00001", "00002", ...
void read_parts(const Json& header, uint64_t size, UploadAction& action) {
  const Json chunk = header.at("chunk_size");
  const std::optional<size_t> text =
      chunk.is_string() ? part_number(chunk.as_string()) : std::nullopt;
  action.part_bytes = text ? *text : static_cast<uint64_t>(chunk.as_int(1, INT64_MAX));
  if (action.part_bytes == 0) chunk.invalid("not a size");
  const uint64_t count = (size + action.part_bytes - 1) / action.part_bytes;
  if (count > kMaxParts) chunk.invalid("too many parts");
  action.parts.resize(count);
  for (const auto& [key, value] : header.members()) {
    const auto number = part_number(key);
    if (!number) continue;
    if (*number == 0 || *number > count) {
      value.invalid(fmt::format("{} bytes have {} parts of {}", size, count, action.part_bytes));
    }
    action.parts[*number - 1] = url_of(header, key);
  }
  const auto missing = std::find(action.parts.begin(), action.parts.end(), "");
  if (missing != action.parts.end()) {
    header.invalid(fmt::format("no URL for part {}", missing - action.parts.begin() + 1));
  }
}

UploadAction action_of(const Json& object, const Json& actions) {
  const Json upload = actions.at("upload");
  UploadAction action;
  action.href = url_of(upload, "href");
  if (const auto header = upload.find("header")) {
    if (header->has("chunk_size")) {
      read_parts(*header,
                 static_cast<uint64_t>(
                     object.get_int_between("size", 0, static_cast<int64_t>(kMaxFileBytes))),
                 action);
    } else {
      for (const auto& [name, value] : header->members()) {
        add_header(action.headers, name, value);
      }
    }
  }
  if (const auto verify = actions.find("verify")) {
    action.verify_href = url_of(*verify, "href");
    if (const auto header = verify->find("header")) {
      for (const auto& [name, value] : header->members()) {
        add_header(action.verify_headers, name, value);
      }
    }
  }
  return action;
}

}  // namespace

std::vector<Preuploaded> parse_preupload(const Json& answer) {
  std::vector<Preuploaded> files;
  const std::vector<Json> entries = answer.at("files").elements();
  files.reserve(entries.size());
  for (const Json& entry : entries) {
    const std::string mode = entry.get_string("uploadMode");
    if (mode != "lfs" && mode != "regular") {
      fail(ErrorCode::Unsupported, "{}: upload mode \"{}\" (known: regular, lfs)", entry.where(),
           mode);
    }
    files.push_back(
        {entry.get_string("path"), mode == "lfs", entry.get_bool_or("shouldIgnore", false)});
  }
  return files;
}

std::vector<LfsAnswer> parse_lfs_batch(const Json& answer, std::string_view repo) {
  const std::string transfer = answer.get_string_or("transfer", "basic");
  if (transfer != "basic" && transfer != "multipart") {
    fail(ErrorCode::Unsupported,
         "{}: the server takes large files by the transfer \"{}\" only (supported: basic, "
         "multipart){}",
         repo, transfer, transfer == "xet" ? "; `hf upload` with hf_xet can push there" : "");
  }
  std::vector<LfsAnswer> objects;
  const std::vector<Json> entries = answer.at("objects").elements();
  objects.reserve(entries.size());
  for (const Json& entry : entries) {
    LfsAnswer object;
    object.sha256 = entry.get_string("oid");
    if (!is_sha256(object.sha256)) entry.invalid("an invalid SHA-256");
    if (const auto error = entry.find("error")) {
      fail(ErrorCode::Network, "{}: the server rejects {}: {}", repo, object.sha256.substr(0, 8),
           error->get_string_or("message", "no reason"));
    }
    if (const auto actions = entry.find("actions"); actions && actions->has("upload")) {
      object.action = action_of(entry, *actions);
    }
    objects.push_back(std::move(object));
  }
  return objects;
}

CommitResult parse_commit_answer(const Json& answer) {
  CommitResult result;
  result.commit = answer.get_string("commitOid");
  if (!is_commit_hash(result.commit)) answer.at("commitOid").invalid("no commit hash");
  result.url = answer.get_string_or("commitUrl", "");
  result.pull_request = answer.get_string_or("pullRequestUrl", "");
  return result;
}

}  // namespace pippin::hub
