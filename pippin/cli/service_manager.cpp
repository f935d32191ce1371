#include "pippin/cli/service_manager.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pippin/base/log.h"
#include "pippin/base/numbers/number.h"

namespace pippin::cli {
namespace {

// Returns false, with errno set, if sending failed.
bool send_to(std::string_view name, const std::string& lines) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool is_known = name.starts_with('/') || name.starts_with('@');
  if (!is_known || name.size() >= sizeof(address.sun_path)) {
    errno = EINVAL;
    return false;
  }
  std::copy(name.begin(), name.end(), std::begin(address.sun_path));
  if (name.front() == '@') address.sun_path[0] = '\0';  // an abstract socket (Linux)
  const int out = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  if (out < 0) return false;
  ::fcntl(out, F_SETFD, FD_CLOEXEC);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const ssize_t sent =
      ::sendto(out, lines.data(), lines.size(), 0,
               static_cast<const sockaddr*>(static_cast<const void*>(&address)), size);
  const int error = errno;
  ::close(out);
  errno = error;
  return sent == static_cast<ssize_t>(lines.size());
}

}  // namespace

int count_inherited_sockets() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  int64_t number = 0;
  if (pid == nullptr || count == nullptr || !parse_number(pid, number) || number != ::getpid() ||
      !parse_number(count, number)) {
    return 0;
  }
  return static_cast<int>(std::clamp<int64_t>(number, 0, 64));
}

void notify_service_manager(const std::string& lines) {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || *name == '\0' || send_to(name, lines)) return;
  log_warn("the service manager at {} was not told {}: {}", name, lines.substr(0, lines.find('\n')),
           std::strerror(errno));
}

}  // namespace pippin::cli
