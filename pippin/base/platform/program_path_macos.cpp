#include <array>
#include <cstdint>

#include <mach-o/dyld.h>

#include "pippin/base/error.h"
#include "pippin/base/platform/program_path.h"

namespace pippin {

std::string program_path() {
  std::array<char, 4096> path{};
  auto size = static_cast<uint32_t>(path.size());
  if (_NSGetExecutablePath(path.data(), &size) != 0) {
    fail(ErrorCode::Io, "the path of this program is longer than {} bytes", path.size());
  }
  return path.data();
}

}  // namespace pippin
