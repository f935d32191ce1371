#include <fstream>

#include "pippin/base/platform/boot_id.h"

namespace pippin {

std::string boot_id() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  return text;
}

}  // namespace pippin
