#include "pippin/http/client_testing.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "pippin/base/numbers/number.h"

namespace pippin::http {
namespace {

// A closed server must be an error, not a signal; set per message or for the socket.
#if defined(MSG_NOSIGNAL)
constexpr int kNoSignal = MSG_NOSIGNAL;
#else
constexpr int kNoSignal = 0;
#endif

void set_up(int socket) {
#if defined(SO_NOSIGPIPE)
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof(yes));
#endif
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);  // as the server's own
  const timeval limit{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

}  // namespace

Client::Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  set_up(socket_);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)::connect(socket_, static_cast<const sockaddr*>(static_cast<const void*>(&address)),
                  sizeof(address));
}

Client::Client(const std::string& socket_path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
  set_up(socket_);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy_n(socket_path.data(), std::min(socket_path.size(), sizeof(address.sun_path) - 1),
              std::begin(address.sun_path));
  (void)::connect(socket_, static_cast<const sockaddr*>(static_cast<const void*>(&address)),
                  sizeof(address));
}

Client::~Client() {
  ::close(socket_);
}

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), kNoSignal);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void Client::send_request(std::string_view method, std::string_view target, std::string_view body,
                          const Fields& headers) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\n", method, target);
  if (find_field(headers, "host").empty()) text += "host: localhost\r\n";
  for (const auto& [name, value] : headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!body.empty()) text += fmt::format("content-length: {}\r\n", body.size());
  send(text + "\r\n" + std::string(body));
}

bool Client::fill() {
  std::array<char, 65536> bytes;
  ssize_t size = 0;
  do {  // where a child of this process ends, a wait with a limit is interrupted
    size = ::recv(socket_, bytes.data(), bytes.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return false;
  received_.append(bytes.data(), static_cast<size_t>(size));
  return true;
}

bool Client::read_until(std::string_view text) {
  while (received_.find(text) == std::string::npos) {
    if (!fill()) return false;
  }
  return true;
}

Answer Client::read_answer(bool is_head) {
  Answer answer;
  for (;;) {
    if (!read_until("\r\n\r\n")) return {};
    const size_t end = received_.find("\r\n\r\n");
    const std::string head = received_.substr(0, end + 2);
    received_.erase(0, end + 4);
    answer.headers.clear();
    size_t at = head.find("\r\n") + 2;
    if (head.size() < 12 || !parse_number(head.substr(9, 3), answer.status)) return {};
    while (at < head.size()) {
      const size_t line_end = head.find("\r\n", at);
      const size_t colon = head.find(": ", at);
      answer.headers.emplace_back(head.substr(at, colon - at),
                                  head.substr(colon + 2, line_end - colon - 2));
      at = line_end + 2;
    }
    if (answer.status >= 200) break;
    answer.interim.push_back(answer.status);
  }
  const std::string_view length = find_field(answer.headers, "content-length");
  size_t size = 0;
  if (is_head || answer.status == 204 || answer.status == 304) {
    answer.is_complete = true;
  } else if (parse_number(length, size)) {
    while (received_.size() < size && fill()) continue;
    answer.body = received_.substr(0, size);
    answer.is_complete = answer.body.size() == size;
    received_.erase(0, size);
  } else if (find_field(answer.headers, "transfer-encoding") == "chunked") {
    for (;;) {
      if (!read_until("\r\n")) return answer;
      const size_t line = received_.find("\r\n");
      if (!parse_number(received_.substr(0, line), size, 16)) return answer;
      while (received_.size() < line + size + 4 && fill()) continue;
      if (received_.size() < line + size + 4) return answer;
      answer.body += received_.substr(line + 2, size);
      received_.erase(0, line + size + 4);
      if (size == 0) break;
    }
    answer.is_complete = true;
  } else {
    while (fill()) continue;
    answer.body = std::move(received_);
    answer.is_complete = true;
  }
  return answer;
}

void Client::finish() {
  ::shutdown(socket_, SHUT_WR);
}

void Client::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  ::close(socket_);
  socket_ = -1;
}

bool Client::is_closed() {
  while (fill()) continue;
  return errno != EAGAIN && errno != EWOULDBLOCK;
}

void Client::set_small_buffer() {
  const int bytes = 4096;
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

Answer ask(uint16_t port, std::string_view method, std::string_view target, std::string_view body,
           const Fields& headers) {
  Client client(port);
  client.send_request(method, target, body, headers);
  return client.read_answer(method == "HEAD");
}

uint16_t port_of(const std::string& url) {
  uint16_t port = 0;
  parse_number(std::string_view(url).substr(url.rfind(':') + 1), port);
  return port;
}

}  // namespace pippin::http
