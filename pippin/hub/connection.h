// Authenticated requests to the Hub. Follows redirects itself, so that the token is sent only to
// the endpoint's own scheme, host and port.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "pippin/hub/http.h"
#include "pippin/hub/settings.h"
#include "pippin/hub/url.h"

namespace pippin::hub {

// Receives events that a user may want to know ("429, waiting 30 s"). Called from any thread.
using Notice = std::function<void(const std::string& line)>;

// Not thread-safe. The constructor's arguments must outlive the connection.
class Connection {
 public:
  // `reached`, shared by all connections of a pull, says whether any server has answered. Before
  // that, a name without an address is a final failure, reported at once: there is no network, or
  // the name is wrong. (A resolver has already tried several times.) Later, it counts as a short
  // network outage.
  Connection(const Settings& settings, std::atomic<bool>& reached, const std::atomic<bool>* stop);

  struct Options {
    std::string range;  // "0-99"; empty: all
    std::chrono::seconds timeout{10};
    size_t max_body = size_t{1} << 20;
    BodySink sink;
    // For requests that change something: further headers ("Name: value"), and the body of a POST
    // or PUT (HttpRequest). Only redirects that keep the method are followed then.
    std::vector<std::string> headers;
    std::string post;
    const HttpUpload* put = nullptr;
    bool may_be_silent = false;  // the server works before it answers, at most `deadline`
    std::chrono::seconds deadline{0};
    // Called with each answer of the endpoint itself, including redirects, before they are
    // followed.
    std::function<void(const HttpResponse&)> on_endpoint_answer;
  };
  struct Answer {
    HttpResponse response;
    Url url;  // final URL
  };
  // A GET, unless the options have a body. Returns the first answer that is not a redirect. Throws
  // Network for a redirect that cannot be followed (too many, from https to http, to an invalid
  // URL), and Cancelled.
  Answer request(const std::string& url, const Options& options);

  // Like request(), but retries transient failures: for requests that may be repeated.
  Answer request_patiently(const std::string& url, const Options& options, const Notice& notice);

  const Settings& settings() const { return settings_; }
  bool is_endpoint(const Url& url) const { return url.origin() == endpoint_.origin(); }

 private:
  const Settings& settings_;
  Url endpoint_;
  HttpClient client_;
  std::atomic<bool>& reached_;
  const std::atomic<bool>* stop_;
};

// Returns the failure in a few words: "429 Too Many Requests" or "Timeout was reached".
std::string describe_failure(const HttpResponse& response);
// Returns "429: waiting 30 s", for notices.
std::string describe_wait(const HttpResponse& response, std::chrono::milliseconds wait);

}  // namespace pippin::hub
