#include "pippin/base/files/mapped_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <map>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/files/mapped_guard.h"
#include "pippin/base/files/mapped_origin.h"
#include "pippin/base/platform/file_times.h"
#include "pippin/base/platform/free_memory.h"
#include "pippin/base/platform/pages.h"
#include "pippin/base/stand_in.h"
#include "pippin/base/threads/fork.h"

namespace pippin {
namespace {

// On systems with huge pages for files (Linux 6.16 with ext4, earlier with other file systems),
// weights are read a fifth faster, and mapping causes a five-hundredth of the page faults. A file
// that does not fit memory is read repeatedly; small pages then avoid reading unneeded data.
bool is_worth_huge_pages(size_t bytes) {
  return bytes >= 2 * kHugePage && bytes <= free_memory();
}

int64_t nanoseconds(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// All mapped files, by their first byte.
class Origins {
 public:
  void add(const std::byte* data, const std::filesystem::path& path, const struct stat& info) {
    FileOrigin origin;
    origin.path = path;
    origin.device = static_cast<uint64_t>(info.st_dev);
    origin.inode = static_cast<uint64_t>(info.st_ino);
    origin.size = static_cast<uint64_t>(info.st_size);
    origin.modified_ns = modified_ns(info);
    origin.changed_ns = changed_ns(info);
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    constexpr int64_t kSettled = 3'000'000'000;
    origin.settled = nanoseconds(now) - std::max(origin.modified_ns, origin.changed_ns) > kSettled;
    origin.mapping = next_.fetch_add(1);
    const Entry entry{origin, guard_range(data, origin.size, path)};
    origins_.access()->insert_or_assign(data, entry);
  }

  void remove(const std::byte* data) {
    auto origins = origins_.access();
    const auto found = origins->find(data);
    if (found == origins->end()) return;
    release_range(found->second.guarded);
    origins->erase(found);
  }

  std::optional<FileOrigin> find(ByteSpan bytes) {
    auto origins = origins_.access();
    auto after = origins->upper_bound(bytes.data());
    if (after == origins->begin()) return std::nullopt;
    const auto& [data, entry] = *--after;
    const auto offset = static_cast<uint64_t>(bytes.data() - data);
    const uint64_t size = entry.origin.size;
    if (offset > size || bytes.size() > size - offset) return std::nullopt;
    FileOrigin result = entry.now();
    result.offset = offset;
    return result;
  }

  uint64_t next() const { return next_.load(); }

  std::vector<FileOrigin> all() {
    std::vector<FileOrigin> result;
    for (const auto& [data, entry] : *origins_.access()) result.push_back(entry.now());
    return result;
  }

 private:
  struct Entry {
    FileOrigin origin;
    GuardedRange* guarded = nullptr;

    FileOrigin now() const {
      FileOrigin result = origin;
      result.damaged = is_damaged(guarded);
      return result;
    }
  };
  std::atomic<uint64_t> next_{1};
  // A lost entry is harmless: bytes of unknown origin are read instead.
  ForkGuarded<std::map<const std::byte*, Entry>> origins_;
};

Origins& origins() {
  static auto* known = new Origins;  // never destroyed: files may be closed after static objects
                                     // are gone
  return *known;
}

}  // namespace

std::optional<FileOrigin> origin_of(ByteSpan bytes) {
  return bytes.empty() ? std::nullopt : origins().find(bytes);
}

uint64_t next_mapping() noexcept {
  return origins().next();
}

std::vector<FileOrigin> mapped_files() {
  return origins().all();
}

bool was_written_to(const FileOrigin& origin) noexcept {
  struct stat now {};
  if (::stat(origin.path.c_str(), &now) != 0) return false;
  if (static_cast<uint64_t>(now.st_dev) != origin.device ||
      static_cast<uint64_t>(now.st_ino) != origin.inode) {
    return false;
  }
  return static_cast<uint64_t>(now.st_size) != origin.size ||
         modified_ns(now) != origin.modified_ns;
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path,
                                                   StandIns stand_ins) {
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
    if (is_worth_huge_pages(size)) want_huge_pages(data, size);
    origins().add(static_cast<const std::byte*>(data), path, info);
  }
  ::close(fd);
  std::shared_ptr<const MappedFile> file(
      new MappedFile(path, static_cast<const std::byte*>(data), size));
  if (stand_ins == StandIns::Refuse) {
    refuse_lfs_pointer(file->bytes(), path);
    refuse_page(file->bytes(), path);
  }
  return file;
}

MappedFile::~MappedFile() {
  if (size_ == 0) return;
  origins().remove(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(ByteSpan range) const noexcept {
  if (range.empty()) return;
  const uintptr_t page = page_size();
  // Only whole pages inside the range: neighbouring bytes may still be in use.
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(range.data()) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(range.data()) + range.size()) / page * page;
  if (begin < end) drop_file_pages(reinterpret_cast<void*>(begin), end - begin);
}

}  // namespace pippin
