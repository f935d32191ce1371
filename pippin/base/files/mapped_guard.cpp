#include "pippin/base/files/mapped_guard.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "pippin/base/platform/pages.h"

namespace pippin {

// An entry of a list that only grows, so that a handler can walk it at any time; free entries are
// reused. The entry that a handler needs cannot change meanwhile: the interrupted thread reads that
// memory, so it is still mapped.
class GuardedRange {
 public:
  std::atomic<uintptr_t> begin{0};  // 0: free
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> is_damaged{false};
  std::string path;
  GuardedRange* next = nullptr;
};

namespace {

std::atomic<GuardedRange*> ranges{nullptr};
std::atomic<uint64_t> num_damaged{0};
std::atomic<MappedGuard> chosen{MappedGuard::EndProgram};
std::atomic<bool> is_installed{false};
struct sigaction before {};
uintptr_t page = 0;

static_assert(std::atomic<uintptr_t>::is_always_lock_free);

// A signal handler may call write(2), but not stdio or the logger.
[[noreturn]] void end_program(const char* path) {
  const auto write_text = [](const char* text) {
    for (size_t left = std::strlen(text); left > 0;) {
      const ssize_t written = ::write(STDERR_FILENO, text, left);
      if (written <= 0) return;
      text += written;
      left -= static_cast<size_t>(written);
    }
  };
  write_text("pippin: error: ");
  write_text(path);
  write_text(": can no longer be read: it was cut off while it was used, or its disk failed\n");
  ::_exit(1);
}

// Replaces the file from that page on with zeros. Returns false if the system refuses.
bool fill(uintptr_t address, uintptr_t end) {
  const uintptr_t from = address / page * page;
  const uintptr_t size = (end - from + page - 1) / page * page;
  return ::mmap(reinterpret_cast<void*>(from), size, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

void handle(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (GuardedRange* range = ranges.load(); range != nullptr; range = range->next) {
    if (address < range->begin.load() || address >= range->end.load()) continue;
    if (chosen.load() == MappedGuard::EndProgram) end_program(range->path.c_str());
    // Count before any thread can read a zero.
    if (!range->is_damaged.exchange(true)) num_damaged.fetch_add(1);
    if (!fill(address, range->end.load())) break;
    errno = error;
    return;  // the access is retried
  }
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(number);
  ::signal(number, SIG_DFL);
  ::raise(number);  // delivered when this handler returns
}

}  // namespace

void guard_mapped_files(MappedGuard guard) {
  chosen = guard;
  if (is_installed.exchange(true)) return;
  page = page_size();
  struct sigaction action {};
  action.sa_sigaction = handle;
  // Without SA_NODEFER, a fault within the handler ends the process.
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &before);
}

uint64_t num_damaged_files() noexcept {
  return num_damaged.load(std::memory_order_acquire);
}

GuardedRange* guard_range(const std::byte* data, size_t size,
                          const std::filesystem::path& path) noexcept try {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  std::string name = path.string();
  GuardedRange* range = ranges.load();
  for (; range != nullptr; range = range->next) {
    uintptr_t free = 0;
    // Reserved, but still empty: its end is before its begin.
    if (range->begin.compare_exchange_strong(free, UINTPTR_MAX)) break;
  }
  const bool is_new = range == nullptr;
  if (is_new) range = new GuardedRange;
  range->path = std::move(name);
  range->is_damaged = false;
  range->end = begin + size;
  range->begin = begin;
  if (is_new) {
    range->next = ranges.load();
    while (!ranges.compare_exchange_weak(range->next, range)) continue;
  }
  return range;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void release_range(GuardedRange* range) noexcept {
  if (range == nullptr) return;
  range->end = 0;
  range->begin = 0;
}

bool is_damaged(const GuardedRange* range) noexcept {
  return range != nullptr && range->is_damaged.load();
}

}  // namespace pippin
