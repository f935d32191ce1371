// Declarations as in macOS: the host's memory statistics. The real vm_statistics64 has more
// members, all before or after these.
#pragma once

#include <cstdint>

using mach_port_t = unsigned;
using host_t = mach_port_t;
using kern_return_t = int;
using integer_t = int;
using natural_t = unsigned;
using mach_msg_type_number_t = natural_t;
using vm_size_t = uintptr_t;
using host_info64_t = integer_t*;

struct vm_statistics64 {
  natural_t free_count;
  natural_t active_count;
  natural_t inactive_count;
  natural_t wire_count;
};
using vm_statistics64_data_t = vm_statistics64;

#define KERN_SUCCESS 0
#define HOST_VM_INFO64 4
#define HOST_VM_INFO64_COUNT \
  static_cast<mach_msg_type_number_t>(sizeof(vm_statistics64_data_t) / sizeof(integer_t))

extern "C" {
mach_port_t mach_host_self();
mach_port_t mach_task_self();
kern_return_t mach_port_deallocate(mach_port_t task, mach_port_t port);
kern_return_t host_page_size(host_t host, vm_size_t* bytes);
kern_return_t host_statistics64(host_t host, int flavour, host_info64_t values,
                                mach_msg_type_number_t* count);
}
