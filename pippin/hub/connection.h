// Requests to the Hub as somebody: follows redirects by hand, so that the token goes to the
// endpoint's own scheme, host and port and nowhere else.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "pippin/hub/http.h"
#include "pippin/hub/settings.h"
#include "pippin/hub/url.h"

namespace pippin::hub {

// What happened on the way that a user may want to know ("429, waiting 30 s"). Any thread may call.
using Notice = std::function<void(const std::string& line)>;

// One thread at a time; all that the constructor takes has to outlive it.
class Connection {
 public:
  // `reached` says whether any server has answered yet, for all connections of a pull. While none
  // has, a name without an address is final: there is no network, or the name is wrong, and who
  // waits should hear that at once. (A resolver has asked several times itself.) Later it is a
  // network that is gone for a moment.
  Connection(const Settings& settings, std::atomic<bool>& reached, const std::atomic<bool>* stop);

  struct Options {
    std::string range;  // "0-99"; empty: all
    std::chrono::seconds timeout{10};
    size_t max_body = size_t{1} << 20;
    BodySink sink;
    // Called with each answer of the endpoint itself, redirects included, before they are followed.
    std::function<void(const HttpResponse&)> on_endpoint_answer;
  };
  struct Answer {
    HttpResponse response;
    Url url;  // where it came from in the end
  };
  // The answer that is no redirect. Throws Network for a redirect that cannot be followed (too
  // many, from https to http, to no URL) and Cancelled.
  Answer get(const std::string& url, const Options& options);

  // The same until it is no transient failure or the retries are used up.
  Answer get_patiently(const std::string& url, const Options& options, const Notice& notice);

  const Settings& settings() const { return settings_; }
  bool is_endpoint(const Url& url) const { return url.origin() == endpoint_.origin(); }

 private:
  const Settings& settings_;
  Url endpoint_;
  HttpClient client_;
  std::atomic<bool>& reached_;
  const std::atomic<bool>* stop_;
};

// "429 Too Many Requests" or "Timeout was reached": what went wrong, in a few words.
std::string describe_failure(const HttpResponse& response);
// "429: waiting 30 s", for notices.
std::string describe_wait(const HttpResponse& response, std::chrono::milliseconds wait);

}  // namespace pippin::hub
