// State shared by the parts of a server. Used only by the thread of Server::run(), unless noted
// otherwise.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <unordered_set>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "pippin/http/server.h"

namespace pippin::http {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;  // TCP and Unix sockets alike
using Socket = Protocol::socket;
using Acceptor = asio::basic_socket_acceptor<Protocol>;

class Connection;

// Replies, which may outlive the server, hold it, too.
struct Shared : std::enable_shared_from_this<Shared> {
  Shared(ServerOptions chosen, Callbacks told)
      : options(std::move(chosen)), callbacks(std::move(told)) {}

  const ServerOptions options;
  const Callbacks callbacks;
  std::shared_ptr<asio::ssl::context> tls;  // null: no TLS
  std::unordered_set<Connection*> connections;
  std::atomic<int> num_connections{0};  // thread-safe
  uint64_t num_requests = 0;
  bool is_stopping = false;
  asio::io_context io{1};  // last, because pending handlers may hold connections
};

// Listens at an address; sets `url` to the URL for clients.
Acceptor listen_at(asio::io_context& io, const Address& address, bool with_tls, std::string& url);

// Child processes must not inherit a connection: it would stay open while they run.
void keep_from_children(int descriptor);

// Converts an IPv4 address in IPv6's form (::ffff:127.0.0.1), which dual-stack sockets use, to
// IPv4.
asio::ip::address plain_address(const asio::ip::address& address);
// Returns the address and port of a TCP socket, local or remote; nothing for other sockets.
std::optional<asio::ip::tcp::endpoint> tcp_endpoint(const Protocol::endpoint& endpoint);

// Reads PEM files. Throws NotFound, Io, InvalidFile.
std::shared_ptr<asio::ssl::context> make_tls(const ServerOptions& options);

}  // namespace pippin::http
