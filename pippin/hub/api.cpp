#include "pippin/hub/api.h"

#include <fmt/format.h>

#include "pippin/hub/repo_spec.h"
#include "pippin/hub/retry.h"

namespace pippin::hub {
namespace {

constexpr size_t kMaxAnswerBytes = size_t{64} << 20;
constexpr int kMaxPages = 2000;

std::string host_of(const Settings& settings) {
  const auto url = parse_url(settings.endpoint);
  return url ? url->host() : settings.endpoint;
}

// Returns the message of {"error": "..."} or {"message": "..."}.
std::string message_of_body(const std::string& body) {
  if (!body.starts_with('{')) return "";
  try {
    const Json json = Json::parse(body, "");
    for (const char* key : {"error", "message"}) {
      if (const auto text = json.find(key); text && text->is_string()) {
        return std::string(text->as_string());
      }
    }
  } catch (const Error&) {  // not the Hub's answer
  }
  return "";
}

std::string said(const HttpResponse& response) {
  const std::string message = server_message(response);
  return message.empty() ? "" : ": " + message;
}

std::string how_to_log_in(const Settings& settings) {
  if (settings.token.empty()) {
    return fmt::format(
        "log in: a token from {}/settings/tokens in HF_TOKEN, with --token, or by "
        "`hf auth login`",
        settings.endpoint);
  }
  return fmt::format("see that the token of {} may read it", settings.token_source);
}

Connection::Options api_options(const Connection& connection) {
  Connection::Options options;
  options.timeout = connection.settings().etag_timeout;
  options.max_body = kMaxAnswerBytes;
  return options;
}

// Parses the answer. If it is not JSON (such as a network's login page), the Hub counts as
// unreachable.
Json json_of(const Connection::Answer& answer) {
  try {
    return Json::parse(answer.response.body, answer.url.host());
  } catch (const Error& error) {
    throw Unreachable(fmt::format("not an answer of the Hub: {}", error.what()));
  }
}

std::string api_url(const Settings& settings, std::string_view repo, const char* question,
                    std::string_view revision) {
  return fmt::format("{}/api/models/{}/{}/{}", settings.endpoint, repo, question,
                     quote_url(revision, ""));
}

}  // namespace

std::string server_message(const HttpResponse& response) {
  constexpr size_t kMostBytes = 300;
  std::string message = response.header("x-error-message").value_or("");
  if (message.empty()) message = message_of_body(response.body);
  std::string text;
  for (const char c : message.substr(0, kMostBytes)) {
    text += static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f ? c : ' ';
  }
  return text;
}

std::string file_url(const Settings& settings, std::string_view repo, std::string_view commit,
                     std::string_view path) {
  return fmt::format("{}/{}/resolve/{}/{}", settings.endpoint, repo, commit, quote_url(path));
}

void fail_for_answer(const HttpResponse& response, const Settings& settings, std::string_view repo,
                     std::string_view revision, std::string_view what) {
  const std::string host = host_of(settings);
  const std::string code = response.header("x-error-code").value_or("");
  const bool bad_token =
      response.header("x-error-message") == "Invalid credentials in Authorization header";
  if (is_transient(response) || !response.failure.empty()) {
    throw Unreachable(fmt::format("{}{}{}: {}: {}{}", repo, what.empty() ? "" : "/", what, host,
                                  describe_failure(response), said(response)));
  }
  if (code == "RevisionNotFound") {
    fail(ErrorCode::NotFound, "{} has no branch, tag or commit \"{}\" on {}", repo, revision, host);
  }
  if (code == "EntryNotFound") {
    fail(ErrorCode::NotFound, "{}@{} has no file {} on {}", repo, revision, what, host);
  }
  if (code == "GatedRepo") {
    fail(ErrorCode::Network, "{} is gated: accept its terms at {}/{}, then {}", repo,
         settings.endpoint, repo, how_to_log_in(settings));
  }
  if (bad_token) {
    fail(ErrorCode::Network,
         "{} does not know the token of {}: make a new one at {}/settings/tokens", host,
         settings.token_source, settings.endpoint);
  }
  if (code == "RepoNotFound" || response.status == 401 ||
      (response.status == 404 && what.empty())) {
    fail(ErrorCode::NotFound,
         "{}: {} has no such repository, or it is private: check the name, or {}", repo, host,
         how_to_log_in(settings));
  }
  if (response.status == 403) {
    fail(ErrorCode::Network, "{}: {} refuses access{}; {}", repo, host, said(response),
         how_to_log_in(settings));
  }
  fail(ErrorCode::Network, "{}{}{}: {} answers with status {}{}", repo, what.empty() ? "" : "/",
       what, host, response.status, said(response));
}

std::string fetch_commit(Connection& connection, std::string_view repo, std::string_view revision,
                         const Notice& notice) {
  const Settings& settings = connection.settings();
  const auto answer = connection.request_patiently(api_url(settings, repo, "revision", revision),
                                                   api_options(connection), notice);
  if (answer.response.status != 200 || !answer.response.failure.empty()) {
    fail_for_answer(answer.response, settings, repo, revision, "");
  }
  return parse_commit(json_of(answer));
}

std::vector<RepoFile> fetch_tree(Connection& connection, std::string_view repo,
                                 std::string_view commit, const Notice& notice) {
  const Settings& settings = connection.settings();
  std::optional<std::string> url =
      api_url(settings, repo, "tree", commit) + "?recursive=true&expand=false";
  std::vector<RepoFile> files;
  for (int page = 0; url; ++page) {
    if (page >= kMaxPages) {
      fail(ErrorCode::LimitExceeded, "{}: its list of files has more than {} pages", repo,
           kMaxPages);
    }
    const auto answer = connection.request_patiently(*url, api_options(connection), notice);
    if (answer.response.status != 200 || !answer.response.failure.empty()) {
      fail_for_answer(answer.response, settings, repo, commit, "");
    }
    parse_tree_page(json_of(answer), files);
    const auto link = next_link(answer.response.header("link").value_or(""));
    url.reset();
    if (!link) break;
    const auto next = resolve_url(answer.url, *link);
    if (!next) fail(ErrorCode::Network, "{}: the next page of its list is not a URL", repo);
    url = next->text();
  }
  return files;
}

}  // namespace pippin::hub
