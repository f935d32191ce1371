#include <array>

#include <sys/sysctl.h>

#include "pippin/base/platform/boot_id.h"

namespace pippin {

std::string boot_id() {
  std::array<char, 64> text{};
  size_t size = text.size() - 1;
  if (::sysctlbyname("kern.bootsessionuuid", text.data(), &size, nullptr, 0) != 0) return "";
  return text.data();
}

}  // namespace pippin
