// The service manager that started this process (systemd): sockets that it passed, and
// notifications to it. Has no effect in other processes.
#pragma once

#include <string>

namespace pippin::cli {

// sd_listen_fds(3): the number of listening sockets, from file descriptor kFirstInherited on.
constexpr int kFirstInherited = 3;
int count_inherited_sockets();

// sd_notify(3): sends lines such as "READY=1" and "STOPPING=1" to the socket in NOTIFY_SOCKET. Best
// effort: logs a warning on failure.
void notify_service_manager(const std::string& lines);

}  // namespace pippin::cli
