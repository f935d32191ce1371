#include "pippin/hub/connection.h"

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/hub/retry.h"

namespace pippin::hub {
namespace {

constexpr int kMaxRedirects = 8;

Url endpoint_url(const Settings& settings) {
  auto url = parse_url(settings.endpoint);
  if (!url) {
    fail(ErrorCode::InvalidArgument, "HF_ENDPOINT: \"{}\" is not an http or https URL",
         settings.endpoint);
  }
  return *url;
}

bool is_redirect(const HttpResponse& response, bool has_body) {
  switch (response.status) {
    case 301:
    case 302:
    case 303:  // these turn a POST into a GET
      return !has_body && response.header("location").has_value();
    case 307:
    case 308:
      return response.header("location").has_value();
    default:
      return false;
  }
}

Url next_url(const Url& from, const HttpResponse& response) {
  const std::string location = *response.header("location");
  const auto to = resolve_url(from, location);
  if (!to) {
    fail(ErrorCode::Network, "{} redirects to an address that is not an http or https URL",
         from.host());
  }
  if (from.scheme == "https" && to->scheme != "https") {
    fail(ErrorCode::Network, "{} redirects from https to http ({}): refused", from.host(),
         to->host());
  }
  return *to;
}

}  // namespace

Connection::Connection(const Settings& settings, std::atomic<bool>& reached,
                       const std::atomic<bool>* stop)
    : settings_(settings),
      endpoint_(endpoint_url(settings)),
      client_(settings.certificates, stop),
      reached_(reached),
      stop_(stop) {}

Connection::Answer Connection::request(const std::string& text, const Options& options) {
  auto url = parse_url(text);
  if (!url)
    fail(ErrorCode::Network, "the server names an address that is not an http or https URL");
  const bool has_body = !options.post.empty() || options.put != nullptr;
  for (int hops = 0; hops <= kMaxRedirects; ++hops) {
    HttpRequest request;
    request.url = url->text();
    request.timeout = options.timeout;
    request.max_body = options.max_body;
    // The listed sizes are those of uncompressed files.
    request.headers = {"Accept-Encoding: identity"};
    request.headers.insert(request.headers.end(), options.headers.begin(), options.headers.end());
    request.post = options.post;
    request.put = options.put;
    if (has_body) request.headers.emplace_back("Expect:");  // sends the body without asking first
    request.may_be_silent = options.may_be_silent;
    request.deadline = options.deadline;
    if (!options.range.empty()) request.headers.push_back("Range: bytes=" + options.range);
    if (!settings_.token.empty() && is_endpoint(*url)) {
      request.headers.push_back("Authorization: Bearer " + settings_.token);
    }
    HttpResponse response = client_.perform(request, options.sink);
    if (response.status != 0) reached_ = true;
    if (response.is_unresolved && !reached_) response.failure_is_final = true;
    if (response.status != 0 && is_endpoint(*url) && options.on_endpoint_answer) {
      options.on_endpoint_answer(response);
    }
    if (!is_redirect(response, has_body)) return {std::move(response), *url};
    url = next_url(*url, response);
  }
  fail(ErrorCode::Network, "{}: more than {} redirects", endpoint_.host(), kMaxRedirects);
}

Connection::Answer Connection::request_patiently(const std::string& url, const Options& options,
                                                 const Notice& notice) {
  Backoff backoff(settings_.retries);
  for (;;) {
    Answer answer = request(url, options);
    if (!is_transient(answer.response)) return answer;
    const auto wait = backoff.next(answer.response);
    if (!wait) return answer;
    if (notice) {
      notice(fmt::format("{}: {}", answer.url.host(), describe_wait(answer.response, *wait)));
    }
    if (wait_or_stop(*wait, stop_)) return answer;
  }
}

std::string describe_failure(const HttpResponse& response) {
  if (!response.failure.empty()) return response.failure;
  switch (response.status) {
    case 0:
      return "no answer";
    case 429:
      return "429 Too Many Requests";
    case 500:
      return "500 Internal Server Error";
    case 502:
      return "502 Bad Gateway";
    case 503:
      return "503 Service Unavailable";
    case 504:
      return "504 Gateway Timeout";
    default:
      return fmt::format("status {}", response.status);
  }
}

std::string describe_wait(const HttpResponse& response, std::chrono::milliseconds wait) {
  return fmt::format("{}, again in {:.1f} s", describe_failure(response),
                     static_cast<double>(wait.count()) / 1000);
}

}  // namespace pippin::hub
