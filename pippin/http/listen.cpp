#include <cstring>
#include <filesystem>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/http/loop.h"

namespace pippin::http {
namespace {

using boost::system::error_code;
using Tcp = asio::ip::tcp;
using Unix = asio::local::stream_protocol;

[[noreturn]] void refuse(std::string_view place, const error_code& error) {
  fail(ErrorCode::InvalidArgument, "cannot listen at {}: {}", place, error.message());
}

std::string url_of(const Tcp::endpoint& endpoint, bool with_tls) {
  const auto address = endpoint.address();
  const std::string host =
      address.is_v6() ? fmt::format("[{}]", address.to_string()) : address.to_string();
  return fmt::format("{}://{}:{}", with_tls ? "https" : "http", host, endpoint.port());
}

// Removes a socket without a listener, which a killed process left.
void remove_stale(asio::io_context& io, const std::string& path) {
  error_code error;
  if (!std::filesystem::is_socket(path)) return;
  Unix::socket probe(io);
  probe.connect(Unix::endpoint(path), error);
  if (error == asio::error::connection_refused) ::unlink(path.c_str());
}

Acceptor listen_at_path(asio::io_context& io, const std::string& path) {
  Unix::endpoint endpoint;
  try {
    endpoint.path(path);
  } catch (const boost::system::system_error& error) {  // the path is too long
    refuse("unix:" + path, error.code());
  }
  remove_stale(io, path);
  Acceptor acceptor(io);
  error_code error;
  acceptor.open(Protocol(AF_UNIX, 0), error);
  // Only this user may connect, from the first moment on.
  const mode_t before = ::umask(0077);
  if (!error) acceptor.bind(Protocol::endpoint(endpoint), error);
  ::umask(before);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) refuse("unix:" + path, error);
  return acceptor;
}

Acceptor listen_at_port(asio::io_context& io, const Address& address, bool with_tls,
                        std::string& url) {
  const std::string place = fmt::format("{}:{}", address.host, address.port);
  error_code error;
  Tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), Tcp::resolver::passive, error);
  if (error) refuse(place, error);
  const Tcp::endpoint endpoint = *found.begin();
  Acceptor acceptor(io);
  acceptor.open(Protocol(endpoint.protocol()), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(Protocol::endpoint(endpoint), error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) refuse(place, error);
  url = url_of(*tcp_endpoint(acceptor.local_endpoint()), with_tls);
  return acceptor;
}

Acceptor take_inherited(asio::io_context& io, int descriptor, std::string& url) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  int listens = 0;
  socklen_t option_size = sizeof(listens);
  if (::getsockname(descriptor, static_cast<sockaddr*>(static_cast<void*>(&name)), &size) != 0 ||
      ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &option_size) != 0 ||
      listens == 0) {
    fail(ErrorCode::InvalidArgument, "file descriptor {} is not a listening socket", descriptor);
  }
  Acceptor acceptor(io);
  acceptor.assign(Protocol(name.ss_family, 0), descriptor);
  url = fmt::format("fd:{}", descriptor);
  return acceptor;
}

}  // namespace

asio::ip::address plain_address(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

std::optional<Tcp::endpoint> tcp_endpoint(const Protocol::endpoint& endpoint) {
  const int family = endpoint.protocol().family();
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  Tcp::endpoint result;
  result.resize(endpoint.size());
  std::memcpy(result.data(), endpoint.data(), endpoint.size());
  return result;
}

bool is_open_to_others(const Address& address) {
  if (address.inherited >= 0) {
    Protocol::endpoint name;
    auto size = static_cast<socklen_t>(name.capacity());
    if (::getsockname(address.inherited, name.data(), &size) != 0) return false;  // not a socket
    name.resize(size);
    const auto endpoint = tcp_endpoint(name);
    return endpoint && !plain_address(endpoint->address()).is_loopback();
  }
  if (!address.path.empty() || address.host == "localhost") return false;
  error_code error;
  const auto literal = asio::ip::make_address(address.host, error);
  return error || !plain_address(literal).is_loopback();
}

void keep_from_children(int descriptor) {
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

Acceptor listen_at(asio::io_context& io, const Address& address, bool with_tls, std::string& url) {
  const auto listen = [&] {
    if (address.inherited >= 0) return take_inherited(io, address.inherited, url);
    if (address.path.empty()) return listen_at_port(io, address, with_tls, url);
    url = "unix:" + address.path;
    return listen_at_path(io, address.path);
  };
  Acceptor acceptor = listen();
  keep_from_children(acceptor.native_handle());
  return acceptor;
}

}  // namespace pippin::http
