// One HTTP request over a kept connection. Redirects are not followed here and nothing is tried
// again: connection.h and retry.h do that. The only file that knows the HTTP library.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"

namespace pippin::hub {

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;   // "Name: value"
  std::chrono::seconds timeout{10};   // to connect, and without a byte
  size_t max_body = size_t{1} << 20;  // of what goes to HttpResponse::body
  std::string post;                   // the body of a POST; empty: a GET
  std::string unix_socket;            // instead of the host's address, unless empty
  bool may_be_silent = false;         // the answer takes its time: `timeout` is to connect only
};

struct HttpResponse {
  int status = 0;                              // 0: none came
  std::map<std::string, std::string> headers;  // names in lower case; of equal ones the last
  std::string body;                            // what no sink took
  // Why the answer is not all there ("Timeout was reached"); empty: it is.
  std::string failure;
  bool failure_is_final = false;  // trying again cannot help (a certificate)
  bool is_unresolved = false;     // no address for the name of the host, or of the proxy

  std::optional<std::string> header(const std::string& name) const;
};

// Takes the body of an answer with status 200 or 206, whose headers are there; false ends the
// transfer, which is no failure then. What it throws leaves HttpClient::perform().
using BodySink = std::function<bool(const HttpResponse& response, ByteSpan bytes)>;

// One thread at a time.
class HttpClient {
 public:
  // `certificates`, a file or a folder of them, replaces curl's own, unless empty. A transfer ends
  // soon after `stop` is set, or it is cancelled.
  HttpClient(const std::string& certificates, const std::atomic<bool>* stop);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  // Throws Cancelled.
  HttpResponse perform(const HttpRequest& request, const BodySink& sink = {});

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace pippin::hub
