#include <fstream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/resource.h>

#include "pippin/app/facts/machine.h"

namespace pippin::app {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

void restart_peak_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);  // memory that is free already does not count
#endif
  std::ofstream("/proc/self/clear_refs") << "5";  // proc(5): resets the peak resident set size
}

uint64_t peak_memory_bytes() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

uint64_t peak_resident_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    uint64_t kilobytes = 0;
    if (word == "VmHWM:" && file >> kilobytes) return kilobytes * 1024;
  }
  return peak_memory_bytes();
}

}  // namespace pippin::app
