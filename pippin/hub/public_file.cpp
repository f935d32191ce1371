#include "pippin/hub/public_file.h"

#include <algorithm>
#include <optional>

#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/hub/connection.h"
#include "pippin/hub/http.h"
#include "pippin/hub/settings.h"
#include "pippin/hub/url.h"

namespace pippin::hub {

std::string read_public_file(const std::string& url, const PublicFileLimits& limits) {
  constexpr int kMaxRedirects = 3;
  std::optional<Url> at = parse_url(url);
  if (!at) fail(ErrorCode::InvalidArgument, "not an http or https URL");
  const auto start = std::chrono::steady_clock::now();
  HttpClient client(read_settings().certificates, nullptr);
  for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
    const auto left =
        limits.deadline - std::chrono::seconds(static_cast<int64_t>(seconds_since(start)));
    HttpRequest request;
    request.url = at->text();
    request.timeout = request.deadline = std::max(left, std::chrono::seconds(1));
    request.max_body = limits.max_bytes;
    request.only_public = !limits.allows_private;
    HttpResponse response = client.perform(request);
    if (!response.failure.empty()) fail(ErrorCode::Network, "{}", response.failure);
    if (response.status == 200) return std::move(response.body);
    const auto location = response.header("location");
    if (response.status < 300 || response.status >= 400 || !location) {
      fail(ErrorCode::Network, "the server answers {}", describe_failure(response));
    }
    const std::optional<Url> next = resolve_url(*at, *location);
    if (!next || (at->scheme == "https" && next->scheme != "https")) {
      fail(ErrorCode::Network, "cannot follow a redirect");
    }
    at = next;
  }
  fail(ErrorCode::Network, "more than {} redirects", kMaxRedirects);
}

}  // namespace pippin::hub
