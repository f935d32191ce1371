#include <filesystem>
#include <system_error>

#include "pippin/base/error.h"
#include "pippin/base/platform/program_path.h"

namespace pippin {

std::string program_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) fail(ErrorCode::Io, "the path of this program is not known: {}", error.message());
  return path.string();
}

}  // namespace pippin
