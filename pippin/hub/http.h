// HTTP requests over a persistent connection, without redirects and retries; see connection.h and
// retry.h. Only this component uses the HTTP library.
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

// The body of a PUT, by position, so that an attempt can be repeated. Exceptions of `read`, which
// fills the whole buffer, propagate from HttpClient::perform().
struct HttpUpload {
  uint64_t size = 0;
  std::function<void(uint64_t position, MutableByteSpan buffer)> read;
  std::function<void(uint64_t sent)> progress;  // bytes of this attempt so far; may be null
};

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;   // "Name: value"
  std::chrono::seconds timeout{10};   // to connect, and between bytes
  size_t max_body = size_t{1} << 20;  // limit for HttpResponse::body
  std::string post;                   // the body of a POST; empty: a GET
  const HttpUpload* put = nullptr;    // makes the request a PUT
  std::string unix_socket;            // used instead of the host's address, unless empty
  bool may_be_silent = false;         // a slow answer: `timeout` limits connecting only
  std::chrono::seconds deadline{0};   // for the whole transfer; 0: none
  // Connects to public addresses only, and through no proxy, which would resolve names itself: for
  // URLs that a client of a server chose.
  bool only_public = false;
};

struct HttpResponse {
  int status = 0;                              // 0: no answer
  std::map<std::string, std::string> headers;  // lower-case names; the last of equal ones
  std::string body;                            // the part that no sink took
  // Why the answer is incomplete ("Timeout was reached"); empty: it is complete.
  std::string failure;
  bool failure_is_final = false;  // a retry cannot help (a certificate)
  bool is_unresolved = false;     // no address for the name of the host or the proxy

  std::optional<std::string> header(const std::string& name) const;
};

// Receives the body of an answer with status 200 or 206, after its headers. Returning false ends
// the transfer without a failure. Exceptions propagate from HttpClient::perform().
using BodySink = std::function<bool(const HttpResponse& response, ByteSpan bytes)>;

// Not thread-safe.
class HttpClient {
 public:
  // `certificates`, a file or a folder, replaces curl's own unless empty. A transfer ends soon
  // after `stop` is set, or after cancellation.
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
