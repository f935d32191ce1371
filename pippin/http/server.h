// An HTTP/1.1 server: connections, limits, time-outs, TLS and graceful shutdown. The handler
// interprets the requests.
//
//   http::Server server(options, {.check = ..., .handle = ..., .refuse = ...});
//   server.run();          // until stop(), or a signal if takes_signals is set
//
// A single thread, that of run(), does all input and output and calls the handler. A handler must
// return at once, and pass longer work to another thread. Replies may be used by any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/http/message.h"

namespace pippin::http {

// The answer to one request. Call exactly one of send() and begin(), from any thread; a reply that
// is destroyed without either is answered with 500.
class Reply {
 public:
  virtual ~Reply() = default;

  // Sends a complete answer.
  virtual void send(Response response) = 0;
  // Begins an answer in pieces (chunked, RFC 9112 section 7.1), and sends its headers at once.
  // After `silence` without a write, a timer writes `comment` to keep the connection alive.
  virtual void begin(const Response& head, std::string comment,
                     std::chrono::milliseconds silence) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
  // Returns whether the client has gone, or was dropped because it reads too slowly.
  virtual bool is_gone() const = 0;
  // Calls `action` once, on the server's thread, if that happens before the answer is complete; at
  // once if it has happened.
  virtual void when_gone(std::function<void()> action) = 0;
};

// An address to listen at.
struct Address {
  std::string host;    // a name or an address; "unix": see path
  uint16_t port = 0;   // 0: any free port
  std::string path;    // of a Unix socket; a stale socket is replaced
  int inherited = -1;  // an inherited listening socket (socket activation)
};

// Returns whether other machines can reach the address: any TCP address except loopback. A name
// other than localhost may be any address.
bool is_open_to_others(const Address& address);

struct ServerOptions {
  std::vector<Address> addresses;
  std::string certificate_file, key_file;  // PEM; empty: no TLS
  size_t max_header_bytes = size_t{64} << 10;
  uint64_t max_body_bytes = uint64_t{32} << 20;
  int max_connections = 1024;
  std::chrono::milliseconds read_timeout{60'000};   // for a request, and between requests
  std::chrono::milliseconds write_timeout{60'000};  // without the client accepting a byte
  std::chrono::milliseconds grace{10'000};          // for answers in flight at shutdown
  size_t max_unread_bytes = size_t{16} << 20;       // of an answer; beyond it, the client is
                                                    // dropped
  // SIGINT and SIGTERM end run() gracefully, a second one at once; SIGHUP reloads the certificate
  // and calls Callbacks::reload.
  bool takes_signals = false;
};

struct Callbacks {
  // Receives a request before its body is read; returning an answer rejects it.
  std::function<std::optional<Response>(const Request& head)> check;
  std::function<void(std::shared_ptr<const Request> request, std::shared_ptr<Reply> reply)> handle;
  // Returns the answer to a request that is malformed, too large, too slow, or above the connection
  // limit. `head` has the parts that could be read: at least the complete fields.
  std::function<Response(const Request& head, int status, std::string_view message)> refuse;
  // Returns the most bytes of a request's body; if null, ServerOptions::max_body_bytes.
  std::function<uint64_t(const Request& head)> body_limit = {};
  std::function<void()> reload = {};
  // A graceful shutdown has begun. Until requests in flight are answered, further requests still
  // arrive at sockets that this process opened itself; check() should reject them, except health
  // checks.
  std::function<void()> stopping = {};
};

class Server {
 public:
  // Starts listening. Throws InvalidArgument for an address that is invalid or unavailable; Io,
  // InvalidFile for keys.
  Server(const ServerOptions& options, Callbacks callbacks);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Serves until stop() or a signal ends it.
  void run();
  // Thread-safe, also in a callback. Requests in flight are finished, or cut after `grace`;
  // meanwhile, a new connection may send one request. A second call cuts all connections at once.
  void stop();

  // Returns one URL per address, with the real port: "http://127.0.0.1:8080",
  // "unix:/run/pippin.sock".
  std::vector<std::string> urls() const;
  int num_connections() const;  // thread-safe

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace pippin::http
