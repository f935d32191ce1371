// The results of the stand-ins for macOS's calls, and the arguments that they received.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pippin {

// A counter of IOReport's group "Energy Model".
struct EnergyChannel {
  std::string name, unit;
  int64_t value = 0;
};

struct Mac {
  std::map<std::string, int> numbers;  // for sysctlbyname()
  std::map<std::string, uint64_t> large_numbers;
  std::map<std::string, std::string> texts;
  bool has_statistics = true, has_zeroing = true;
  uint32_t free_pages = 0, inactive_pages = 0;
  uint64_t page_bytes = 16384;

  std::string program = "/usr/local/bin/pippin";

  int open_ports = 0;  // from mach_host_self(), not yet deallocated
  uint32_t thread_class = 0;

  bool has_io_report = true;
  std::string missing_symbol;  // of IOReport; simulated as missing
  std::vector<EnergyChannel> energy;
  int objects = 0;  // Core Foundation objects created and not released

  std::vector<int> advice;                          // from madvise()
  std::vector<std::pair<int64_t, int>> read_ahead;  // offsets and byte counts from F_RDADVISE
};

Mac& mac();

}  // namespace pippin
