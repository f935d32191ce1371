#include "tests/macos/stubs.h"

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include <fcntl.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sysctl.h>

namespace pippin {
namespace {

constexpr mach_port_t kHost = 7, kTask = 9;

// Like the real call: too little room is an error, and returns the required size.
int give(const void* value, size_t bytes, void* old, size_t* old_size) {
  const bool fits = old != nullptr && *old_size >= bytes;
  if (fits) std::memcpy(old, value, bytes);
  *old_size = bytes;
  if (!fits) errno = ENOMEM;
  return fits ? 0 : -1;
}

}  // namespace

Mac& mac() {
  static Mac machine;
  return machine;
}

extern "C" {

int sysctlbyname(const char* name, void* old, size_t* old_size, void* /*other*/, size_t /*size*/) {
  if (const auto it = mac().numbers.find(name); it != mac().numbers.end()) {
    return give(&it->second, sizeof(it->second), old, old_size);
  }
  if (const auto it = mac().large_numbers.find(name); it != mac().large_numbers.end()) {
    return give(&it->second, sizeof(it->second), old, old_size);
  }
  if (const auto it = mac().texts.find(name); it != mac().texts.end()) {
    return give(it->second.c_str(), it->second.size() + 1, old, old_size);
  }
  errno = ENOENT;
  return -1;
}

// Like the real call: returns -1 if there is too little room, and the required size.
int _NSGetExecutablePath(char* path, uint32_t* size) {
  const auto bytes = static_cast<uint32_t>(mac().program.size() + 1);
  const bool fits = *size >= bytes;
  if (fits) std::memcpy(path, mac().program.c_str(), bytes);
  *size = bytes;
  return fits ? 0 : -1;
}

int macos_madvise(void* data, size_t bytes, int advice) {
  mac().advice.push_back(advice);
  if (advice != MADV_ZERO) return 0;
  if (!mac().has_zeroing) {
    errno = EINVAL;
    return -1;
  }
  std::memset(data, 0, bytes);
  return 0;
}

int macos_fcntl(int /*fd*/, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const auto* advice = va_arg(arguments, const radvisory*);
  va_end(arguments);
  mac().read_ahead.emplace_back(advice->ra_offset, advice->ra_count);
  return 0;
}

int pthread_set_qos_class_self_np(qos_class_t qos_class, int /*relative_priority*/) {
  mac().thread_class = qos_class;
  return 0;
}

mach_port_t mach_host_self() {
  ++mac().open_ports;
  return kHost;
}

mach_port_t mach_task_self() {
  return kTask;
}

kern_return_t mach_port_deallocate(mach_port_t task, mach_port_t port) {
  if (task != kTask || port != kHost) return 1;
  --mac().open_ports;
  return KERN_SUCCESS;
}

kern_return_t host_page_size(host_t host, vm_size_t* bytes) {
  *bytes = mac().page_bytes;
  return host == kHost ? KERN_SUCCESS : 1;
}

kern_return_t host_statistics64(host_t host, int flavour, host_info64_t values,
                                mach_msg_type_number_t* count) {
  if (!mac().has_statistics || host != kHost || flavour != HOST_VM_INFO64) return 1;
  if (*count != HOST_VM_INFO64_COUNT) return 1;
  vm_statistics64_data_t pages{};
  pages.free_count = mac().free_pages;
  pages.inactive_count = mac().inactive_pages;
  pages.active_count = pages.wire_count = UINT32_MAX;
  std::memcpy(values, &pages, sizeof(pages));
  return KERN_SUCCESS;
}

}  // extern "C"

}  // namespace pippin
