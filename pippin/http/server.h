// An HTTP/1.1 server: connections, limits, time-outs, TLS and a graceful end. What the requests
// mean is the handler's matter.
//
//   http::Server server(options, {.check = ..., .handle = ..., .refuse = ...});
//   server.run();          // until stop(), or a signal if it may take them
//
// One thread, that of run(), does all the input and output, and calls the handler: a handler that
// has to work hands that to another thread and returns at once. Replies may be used by any thread.
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

// The answer to one request. Exactly one of send() and begin() is to be called, from any thread; a
// reply that goes without is answered with 500.
class Reply {
 public:
  virtual ~Reply() = default;

  // All of the answer.
  virtual void send(Response response) = 0;
  // An answer in pieces (chunked, RFC 9112 section 7.1). Its headers leave at once. Where nothing
  // was written for `silence`, `comment` is, by a timer.
  virtual void begin(const Response& head, std::string comment,
                     std::chrono::milliseconds silence) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
  // Whether the client has gone, or reads so slowly that it was given up.
  virtual bool is_gone() const = 0;
  // Called once, on the server's thread, if that happens before the answer is complete; at once if
  // it has happened.
  virtual void when_gone(std::function<void()> action) = 0;
};

// Where to listen.
struct Address {
  std::string host;    // a name or an address; of "unix" the path is below
  uint16_t port = 0;   // 0: any that is free
  std::string path;    // of a Unix socket; a stale one is replaced
  int inherited = -1;  // a listening socket that this process was given (socket activation)
};

// Whether clients of other machines can reach what listens there: at any TCP address but a loopback
// one. A name other than localhost may mean any address.
bool is_open_to_others(const Address& address);

struct ServerOptions {
  std::vector<Address> addresses;
  std::string certificate_file, key_file;  // PEM; empty: no TLS
  size_t max_header_bytes = size_t{64} << 10;
  uint64_t max_body_bytes = uint64_t{32} << 20;
  int max_connections = 1024;
  std::chrono::milliseconds read_timeout{60'000};   // for a request, and between two of them
  std::chrono::milliseconds write_timeout{60'000};  // without a byte that the client takes
  std::chrono::milliseconds grace{10'000};          // for answers that are under way at the end
  size_t max_unread_bytes = size_t{16} << 20;       // of an answer, before a client is given up
  // SIGINT and SIGTERM end run() gracefully, the second one at once; SIGHUP reads the certificate
  // again, and calls Callbacks::reload.
  bool takes_signals = false;
};

struct Callbacks {
  // Sees a request before its body is read; an answer refuses it.
  std::function<std::optional<Response>(const Request& head)> check;
  std::function<void(std::shared_ptr<const Request> request, std::shared_ptr<Reply> reply)> handle;
  // The answer to a request that is malformed, too large or too slow, or above the limit of
  // connections. `head` has the parts of it that could be read: complete fields at least.
  std::function<Response(const Request& head, int status, std::string_view message)> refuse;
  std::function<void()> reload = {};
  // A graceful end has begun. Requests still come until those under way are answered, over sockets
  // that this process opened itself: check() refuses them, but for those that ask how it is.
  std::function<void()> stopping = {};
};

class Server {
 public:
  // Listens. Throws InvalidArgument for an address that is none or cannot be had; Io, InvalidFile
  // for keys.
  Server(const ServerOptions& options, Callbacks callbacks);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Serves until the end that stop() or a signal begins.
  void run();
  // From any thread, and from a callback: requests that are under way are finished, or cut when
  // `grace` is over; meanwhile a new connection has one request. A second call cuts all at once.
  void stop();

  // "http://127.0.0.1:8080", "unix:/run/pippin.sock": one for each address, with the real port.
  std::vector<std::string> urls() const;
  int num_connections() const;  // from any thread

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace pippin::http
