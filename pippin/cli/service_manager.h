// The service manager that started this process (systemd): sockets that it opened, and what it is
// told. Nothing of it is there in other processes.
#pragma once

#include <string>

namespace pippin::cli {

// sd_listen_fds(3): how many listening sockets there are, from file descriptor kFirstInherited on.
constexpr int kFirstInherited = 3;
int count_inherited_sockets();

// sd_notify(3): lines such as "READY=1" and "STOPPING=1", sent to the socket that NOTIFY_SOCKET
// names. Best effort: a warning where that cannot be done.
void notify_service_manager(const std::string& lines);

}  // namespace pippin::cli
