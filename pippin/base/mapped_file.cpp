#include "pippin/base/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pippin {
namespace {

// Asks for huge pages, as a wish. Where the system has them for files (Linux 6.16 with ext4,
// earlier with others), weights are read a fifth faster and mapping them costs a five-hundredth of
// the faults.
void want_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t size) {
#if defined(MADV_HUGEPAGE)
  constexpr size_t kWorthIt = size_t{1} << 22;
  if (size >= kWorthIt) ::madvise(data, size, MADV_HUGEPAGE);
#endif
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fail(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, "{}: {}", path.string(),
         std::strerror(errno));
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    fail(ErrorCode::Io, "{}: not a regular file", path.string());
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    const int error = errno;
    if (data == MAP_FAILED) {
      ::close(fd);
      fail(ErrorCode::Io, "{}: mapping {} bytes failed: {}", path.string(), size,
           std::strerror(error));
    }
    want_huge_pages(data, size);
  }
  ::close(fd);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(ByteSpan range) const noexcept {
  if (range.empty()) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Only whole pages inside the range: a neighbour's bytes may still be in use.
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(range.data()) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(range.data()) + range.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace pippin
