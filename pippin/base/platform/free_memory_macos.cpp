#include <mach/mach.h>
#include <sys/sysctl.h>

#include "pippin/base/platform/free_memory.h"

namespace pippin {

uint64_t free_memory() {
  const mach_port_t host = ::mach_host_self();
  vm_size_t page = 0;
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  // Inactive pages hold files and memory that was not used for long; the system takes them before
  // it swaps out active pages. Free pages include speculative ones.
  const bool is_told =
      ::host_page_size(host, &page) == KERN_SUCCESS &&
      ::host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count) ==
          KERN_SUCCESS;
  ::mach_port_deallocate(::mach_task_self(), host);
  if (is_told) return (uint64_t{pages.free_count} + pages.inactive_count) * page;
  return total_memory() / 4;
}

uint64_t total_memory() {
  uint64_t bytes = 0;
  size_t size = sizeof(bytes);
  return ::sysctlbyname("hw.memsize", &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
}

}  // namespace pippin
