#include "pippin/base/files/durable.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"

namespace pippin {
namespace {

struct Removed {
  const std::filesystem::path& path;
  ~Removed() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

}  // namespace

void sync_to_disk(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int error = fd < 0 || ::fsync(fd) != 0 ? errno : 0;
  if (fd >= 0) ::close(fd);
  if (error == EINVAL) error = 0;  // the file system cannot sync a folder
  if (error != 0) {
    fail(ErrorCode::Io, "{}: may not be on the disk: {}", path.string(), std::strerror(error));
  }
}

bool publish_draft(const std::filesystem::path& path, const std::filesystem::path& draft) {
  const Removed removed{draft};
  sync_to_disk(draft);
  if (::link(draft.c_str(), path.c_str()) != 0) {
    const int error = errno;
    struct stat status {};
    // A network disk may report an error of a repeated request that succeeded at first.
    const bool is_linked = ::stat(draft.c_str(), &status) == 0 && status.st_nlink > 1;
    if (!is_linked && error == EEXIST) return false;
    if (!is_linked)
      fail(ErrorCode::Io, "{}: cannot be created: {}", path.string(), std::strerror(error));
  }
  sync_to_disk(path.parent_path());
  return true;
}

bool publish_file(const std::filesystem::path& path, const std::filesystem::path& draft,
                  std::string_view content) {
  const Removed removed{draft};
  FileWriter writer(draft);
  writer.write(content);
  writer.close();
  return publish_draft(path, draft);
}

}  // namespace pippin
