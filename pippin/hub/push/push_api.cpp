#include "pippin/hub/push/push_api.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "pippin/base/base64.h"
#include "pippin/base/error.h"
#include "pippin/hub/api.h"
#include "pippin/hub/repo_spec.h"
#include "pippin/hub/retry.h"
#include "pippin/io/json.h"

namespace pippin::hub {
namespace {

constexpr size_t kMaxPushAnswerBytes = size_t{64} << 20;
constexpr std::chrono::minutes kLongestWork{10};
constexpr size_t kMostPreuploads = 256;
constexpr size_t kSampleBytes = 512;
constexpr size_t kMostAttributeBytes = size_t{1} << 20;

std::string models_url(const Settings& settings, std::string_view repo) {
  return fmt::format("{}/api/models/{}", settings.endpoint, repo);
}

std::string host_name(const Settings& settings) {
  const auto url = parse_url(settings.endpoint);
  return url ? url->host() : settings.endpoint;
}

Connection::Options get_options(const Connection& connection) {
  Connection::Options options;
  options.timeout = connection.settings().etag_timeout;
  options.max_body = kMaxPushAnswerBytes;
  return options;
}

// The content of a file of this push that changes how the server sorts the others.
void add_rules_file(JsonWriter& writer, const char* member, const char* name,
                    const std::vector<LocalFile>& files) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const LocalFile& file) { return file.path == name; });
  if (found == files.end()) return;
  if (found->size > kMostAttributeBytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes (at most {})", found->file.string(), found->size,
         kMostAttributeBytes);
  }
  writer.member(member, beginning_of(*found, kMostAttributeBytes));
}

}  // namespace

bool is_success(const HttpResponse& response) {
  return response.failure.empty() && response.status >= 200 && response.status < 300;
}

Json json_of_answer(const Connection::Answer& answer) {
  try {
    return Json::parse(answer.response.body, answer.url.host());
  } catch (const Error& error) {
    throw Unreachable(fmt::format("not an answer of the Hub: {}", error.what()));
  }
}

void fail_for_push(const HttpResponse& response, const Settings& settings, std::string_view repo,
                   std::string_view what) {
  const std::string message = server_message(response);
  const std::string place = fmt::format("{}{}{}", repo, what.empty() ? "" : ": ", what);
  const bool is_bad_token = message == "Invalid credentials in Authorization header";
  if (response.status == 403 || (response.status == 401 && !is_bad_token)) {
    fail(ErrorCode::Network, "{}: {} refuses with {}{}{}; the token of {} must be able to write",
         place, host_name(settings), response.status, message.empty() ? "" : ": ", message,
         settings.token_source);
  }
  const bool is_general =
      is_transient(response) || !response.failure.empty() || is_bad_token || response.status == 404;
  if (is_general) fail_for_answer(response, settings, repo, "", "");
  fail(ErrorCode::Network, "{}: {} answers with status {}{}{}", place, host_name(settings),
       response.status, message.empty() ? "" : ": ", message);
}

Connection::Options post_options(const Connection& connection, std::string body) {
  Connection::Options options = get_options(connection);
  options.post = std::move(body);
  options.headers = {"Content-Type: application/json"};
  options.may_be_silent = true;
  options.deadline = kLongestWork;
  return options;
}

Connection::Options lfs_options(const Connection& connection, std::string body) {
  Connection::Options options = post_options(connection, std::move(body));
  options.headers = {"Accept: application/vnd.git-lfs+json",
                     "Content-Type: application/vnd.git-lfs+json"};
  return options;
}

std::string fetch_user(Connection& connection, const Notice& notice) {
  const Settings& settings = connection.settings();
  const auto answer = connection.request_patiently(settings.endpoint + "/api/whoami-v2",
                                                   get_options(connection), notice);
  if (!is_success(answer.response)) fail_for_push(answer.response, settings, "the user's name", "");
  return json_of_answer(answer).get_string("name");
}

Head fetch_head(Connection& connection, std::string_view repo, std::string_view revision,
                const Notice& notice) {
  const Settings& settings = connection.settings();
  const auto answer = connection.request_patiently(
      fmt::format("{}/revision/{}", models_url(settings, repo), quote_url(revision, "")),
      get_options(connection), notice);
  const HttpResponse& response = answer.response;
  Head head;
  if (is_success(response)) {
    const Json json = json_of_answer(answer);
    head.has_repo = head.has_revision = true;
    head.is_private = json.get_bool_or("private", false);
    head.commit = parse_commit(json);
    return head;
  }
  const std::string code = response.header("x-error-code").value_or("");
  if (!response.failure.empty()) fail_for_answer(response, settings, repo, revision, "");
  if (code == "RevisionNotFound") {
    head.has_repo = true;
    return head;
  }
  if (code == "RepoNotFound" &&
      server_message(response).find("Invalid credentials") == std::string::npos) {
    return head;
  }
  fail_for_answer(response, settings, repo, revision, "");
}

bool create_repo(Connection& connection, std::string_view repo, bool is_private,
                 const Notice& notice) {
  const Settings& settings = connection.settings();
  const size_t slash = repo.find('/');
  JsonWriter writer;
  writer.begin_object()
      .member("type", "model")
      .member("name", repo.substr(slash + 1))
      .member("organization", repo.substr(0, slash))
      .member("private", is_private)
      .end_object();
  const auto answer = connection.request_patiently(settings.endpoint + "/api/repos/create",
                                                   post_options(connection, writer.text()), notice);
  if (answer.response.status == 409) return false;
  if (!is_success(answer.response)) {
    fail_for_push(answer.response, settings, repo, "cannot be created");
  }
  return true;
}

bool create_branch(Connection& connection, std::string_view repo, std::string_view branch,
                   const Notice& notice) {
  const Settings& settings = connection.settings();
  const auto answer = connection.request_patiently(
      fmt::format("{}/branch/{}", models_url(settings, repo), quote_url(branch, "")),
      post_options(connection, "{}"), notice);
  if (answer.response.status == 409) return false;
  if (!is_success(answer.response)) {
    fail_for_push(answer.response, settings, repo,
                  fmt::format("branch \"{}\" cannot be created", branch));
  }
  return true;
}

std::vector<Preuploaded> preupload(Connection& connection, std::string_view repo,
                                   std::string_view revision, bool creates_pr,
                                   const std::vector<LocalFile>& files, const Notice& notice) {
  const Settings& settings = connection.settings();
  const std::string url = fmt::format("{}/preupload/{}{}", models_url(settings, repo),
                                      quote_url(revision, ""), creates_pr ? "?create_pr=1" : "");
  std::map<std::string, Preuploaded> told;
  for (size_t begin = 0; begin < files.size(); begin += kMostPreuploads) {
    JsonWriter writer;
    writer.begin_object().key("files").begin_array();
    for (size_t i = begin; i < std::min(begin + kMostPreuploads, files.size()); ++i) {
      writer.begin_object()
          .member("path", files[i].path)
          .member("sample", encode_base64(as_byte_span(beginning_of(files[i], kSampleBytes))))
          .member("size", files[i].size)
          .end_object();
    }
    writer.end_array();
    add_rules_file(writer, "gitAttributes", ".gitattributes", files);
    add_rules_file(writer, "gitIgnore", ".gitignore", files);
    writer.end_object();
    const auto answer =
        connection.request_patiently(url, post_options(connection, writer.text()), notice);
    if (!is_success(answer.response)) fail_for_push(answer.response, settings, repo, "");
    for (Preuploaded& file : parse_preupload(json_of_answer(answer))) {
      told[file.path] = std::move(file);
    }
  }
  std::vector<Preuploaded> result;
  result.reserve(files.size());
  for (const LocalFile& file : files) {
    const auto found = told.find(file.path);
    if (found == told.end()) {
      fail(ErrorCode::Network, "{}: {} does not say how to send {}", repo, host_name(settings),
           file.path);
    }
    result.push_back(found->second);
    // An LFS object must have content.
    if (file.size == 0) result.back().is_lfs = false;
  }
  return result;
}

std::vector<LfsAnswer> request_uploads(Connection& connection, std::string_view repo,
                                       std::string_view revision,
                                       const std::vector<LfsObject>& objects,
                                       const Notice& notice) {
  const Settings& settings = connection.settings();
  JsonWriter writer;
  writer.begin_object()
      .member("operation", "upload")
      .member("transfers", std::vector<std::string>{"basic", "multipart"})
      .member("hash_algo", "sha256");
  writer.key("ref").begin_object().member("name", revision).end_object();
  writer.key("objects").begin_array();
  for (const LfsObject& object : objects) {
    writer.begin_object()
        .member("oid", object.sha256)
        .member("size", object.file.size)
        .end_object();
  }
  writer.end_array().end_object();
  const auto answer = connection.request_patiently(
      fmt::format("{}/{}.git/info/lfs/objects/batch", settings.endpoint, repo),
      lfs_options(connection, writer.text()), notice);
  if (!is_success(answer.response)) fail_for_push(answer.response, settings, repo, "");
  std::map<std::string, LfsAnswer> told;
  for (LfsAnswer& one : parse_lfs_batch(json_of_answer(answer), repo)) {
    told[one.sha256] = std::move(one);
  }
  std::vector<LfsAnswer> result;
  result.reserve(objects.size());
  for (const LfsObject& object : objects) {
    const auto found = told.find(object.sha256);
    if (found == told.end()) {
      fail(ErrorCode::Network, "{}: {} does not say where {} goes", repo, host_name(settings),
           object.file.path);
    }
    const auto& action = found->second.action;
    if (action && action->part_bytes > 0 &&
        action->parts.size() != (object.file.size - 1) / action->part_bytes + 1) {
      fail(ErrorCode::Network, "{}: {} parts of {} bytes are not {} bytes", object.file.path,
           action->parts.size(), action->part_bytes, object.file.size);
    }
    result.push_back(found->second);
  }
  return result;
}

}  // namespace pippin::hub
