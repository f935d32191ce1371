#include "pippin/hub/push/commit.h"

#include <algorithm>
#include <atomic>
#include <map>

#include <fmt/format.h>

#include "pippin/base/base64.h"
#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/hub/api.h"
#include "pippin/hub/retry.h"
#include "pippin/io/json.h"

namespace pippin::hub {
namespace {

// Of the contents that the request holds itself; large files are LFS objects.
constexpr uint64_t kMostRegularBytes = uint64_t{512} << 20;

// A line of NDJSON: {"key": KEY, "value": {...}}.
class Lines {
 public:
  JsonWriter& begin(const char* key) {
    line_ = JsonWriter();
    line_.begin_object().member("key", key).key("value").begin_object();
    return line_;
  }
  void end() {
    line_.end_object().end_object();
    text_ += line_.text();
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  JsonWriter line_;
  std::string text_;
};

std::string body_of(const CommitRequest& request) {
  uint64_t regular = 0;
  for (const LocalFile& file : request.regular) regular += file.size;
  if (regular > kMostRegularBytes) {
    fail(ErrorCode::LimitExceeded,
         "the files that are not stored by LFS have {} together (at most {} in a commit); push "
         "them in parts with --include, or name them in .gitattributes",
         format_bytes(regular), format_bytes(kMostRegularBytes));
  }
  Lines lines;
  JsonWriter& header = lines.begin("header");
  header.member("summary", request.summary).member("description", request.description);
  if (!request.parent.empty()) header.member("parentCommit", request.parent);
  lines.end();
  for (const LocalFile& file : request.regular) {
    check_unchanged(file);
    const std::string content = beginning_of(file, file.size);
    check_unchanged(file);  // nor while it was read
    lines.begin("file")
        .member("content", encode_base64(as_byte_span(content)))
        .member("path", file.path)
        .member("encoding", "base64");
    lines.end();
  }
  for (const LfsObject& object : request.lfs) {
    check_unchanged(object.file);
    lines.begin("lfsFile")
        .member("path", object.file.path)
        .member("algo", "sha256")
        .member("oid", object.sha256)
        .member("size", object.file.size);
    lines.end();
  }
  for (const std::string& path : request.deleted) {
    lines.begin("deletedFile").member("path", path);
    lines.end();
  }
  return lines.take();
}

// Whether the commit has all changes of the request.
bool has_changes(const std::vector<RepoFile>& files, const CommitRequest& request) {
  std::map<std::string_view, const RepoFile*> by_path;
  for (const RepoFile& file : files) by_path[file.path] = &file;
  const auto find = [&](const std::string& path) -> const RepoFile* {
    const auto found = by_path.find(path);
    return found == by_path.end() ? nullptr : found->second;
  };
  for (const LfsObject& object : request.lfs) {
    const RepoFile* file = find(object.file.path);
    if (file == nullptr || file->sha256 != object.sha256) return false;
  }
  for (const LocalFile& local : request.regular) {
    const RepoFile* file = find(local.path);
    if (file == nullptr || file->git_sha1 != git_hash_of(local)) return false;
  }
  return std::none_of(request.deleted.begin(), request.deleted.end(),
                      [&](const std::string& path) { return find(path) != nullptr; });
}

}  // namespace

CommitResult commit(Connection& connection, std::string_view repo, std::string_view revision,
                    const CommitRequest& request, const Notice& notice) {
  const Settings& settings = connection.settings();
  const std::string url =
      fmt::format("{}/api/models/{}/commit/{}{}", settings.endpoint, repo, quote_url(revision, ""),
                  request.creates_pr ? "?create_pr=1" : "");
  Connection::Options options = post_options(connection, body_of(request));
  options.headers = {"Content-Type: application/x-ndjson"};
  Backoff backoff(settings.retries);
  bool may_be_applied = false;  // an earlier attempt
  std::atomic<bool> reached = true;
  for (;;) {
    // On a connection of its own: curl sends a request again by itself if a kept one has ended.
    Connection fresh(settings, reached, nullptr);
    const Connection::Answer answer = fresh.request(url, options);
    const HttpResponse& response = answer.response;
    if (is_success(response)) return parse_commit_answer(json_of_answer(answer));
    const bool is_unknown = is_transient(response) && response.status != 429;
    may_be_applied = may_be_applied || is_unknown;
    if (is_unknown && request.creates_pr) {
      fail(ErrorCode::Network,
           "{}: {}; the pull request may have been opened: see {}/{}/discussions before another "
           "push",
           repo, describe_failure(response), settings.endpoint, repo);
    }
    if (may_be_applied) {
      const Head head = fetch_head(connection, repo, revision, notice);
      if (head.has_revision && head.commit != request.parent &&
          has_changes(fetch_tree(connection, repo, head.commit, notice), request)) {
        return {head.commit, fmt::format("{}/{}/commit/{}", settings.endpoint, repo, head.commit),
                ""};
      }
    }
    const auto wait = is_transient(response) ? backoff.next(response) : std::nullopt;
    if (!wait) {
      const bool has_moved = response.status == 409 || response.status == 412;
      if (!has_moved) fail_for_push(response, settings, repo, "the commit");
      fail(ErrorCode::Network,
           "{}: branch \"{}\" has changed during the push ({} {}); push again, uploaded "
           "contents stay at the server",
           repo, revision, response.status, server_message(response));
    }
    if (notice) notice(fmt::format("the commit: {}", describe_wait(response, *wait)));
    wait_or_stop(*wait);
  }
}

}  // namespace pippin::hub
