#include "pippin/cli/service_manager.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pippin/base/log.h"
#include "pippin/base/testing.h"

namespace pippin::cli {
namespace {

// A service manager that listens on the socket in NOTIFY_SOCKET.
class Manager {
 public:
  Manager() : path_(folder_ / "notify"), socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket_, static_cast<const sockaddr*>(static_cast<const void*>(&address)),
                     sizeof(address)),
              0);
    ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager() {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(socket_);
  }

  std::string receive() const {
    std::array<char, 1000> buffer{};
    const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    return size < 0 ? "" : std::string(buffer.data(), static_cast<size_t>(size));
  }

 private:
  TempDir folder_;
  const std::string path_;
  const int socket_;
};

TEST(ServiceManager, IsTold) {
  notify_service_manager("READY=1");  // there is no service manager
  const Manager manager;
  notify_service_manager("READY=1\nSTATUS=serving");
  EXPECT_EQ(manager.receive(), "READY=1\nSTATUS=serving");
  notify_service_manager("STOPPING=1");
  EXPECT_EQ(manager.receive(), "STOPPING=1");
  EXPECT_EQ(manager.receive(), "");
}

TEST(ServiceManager, ThatIsNotThereIsAWarning) {
  std::string said;
  const LogScope log(LogLevel::Warn, [&](LogLevel, std::string_view line) { said += line; });
  for (const std::string& name :
       {std::string("/nowhere/notify"), std::string("vsock:2:1234"), "/" + std::string(200, 'x')}) {
    said.clear();
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    notify_service_manager("READY=1\nSTATUS=serving");
    EXPECT_TRUE(said.starts_with("the service manager at " + name + " was not told READY=1: "))
        << said;
  }
  ::unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace pippin::cli
