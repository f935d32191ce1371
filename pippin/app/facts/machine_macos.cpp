#include <array>

#include <sys/resource.h>
#include <sys/sysctl.h>

#include "pippin/app/facts/machine.h"

namespace pippin::app {

std::string cpu_name() {
  std::array<char, 128> text{};
  size_t size = text.size() - 1;
  if (::sysctlbyname("machdep.cpu.brand_string", text.data(), &size, nullptr, 0) != 0) {
    return "unknown";
  }
  return text.data();
}

void restart_peak_memory() {}  // not supported by the system

uint64_t peak_memory_bytes() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss);  // bytes here, kilobytes on Linux
}

uint64_t peak_resident_bytes() {
  return peak_memory_bytes();
}

}  // namespace pippin::app
