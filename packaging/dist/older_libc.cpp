// Functions that GCC 12's own libraries use from glibc 2.32 to 2.36, for programs that run with
// glibc 2.31. sysroot.sh adds them to the libc for releases.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace {

// The result of glibc's _dl_find_object, on machines where exception tables need no base address.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  link_map* map;
  void* exception_table;  // the segment PT_GNU_EH_FRAME
  unsigned long long reserved[7];
};

struct Search {
  ElfW(Addr) address;
  FoundObject* found;
};

int look_into(dl_phdr_info* object, std::size_t, void* user) {
  auto& search = *static_cast<Search*>(user);
  const ElfW(Phdr)* table = nullptr;
  bool has_address = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_GNU_EH_FRAME) table = &segment;
    // Below the segment, the difference wraps around and exceeds the size of any segment.
    if (segment.p_type == PT_LOAD &&
        search.address - (object->dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
      has_address = true;
    }
  }
  if (!has_address) return 0;  // continue
  if (table == nullptr) return -1;
  search.found->exception_table = reinterpret_cast<void*>(object->dlpi_addr + table->p_vaddr);
  return 1;
}

}  // namespace

extern "C" {

// Means that there may be threads, so that reference counts are always atomic.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

// Returns the exception table of the object that contains `address`, or -1. GCC's unwinder reads no
// other part of the result.
__attribute__((visibility("hidden"))) int _dl_find_object(void* address, FoundObject* found) {
  *found = {};
  Search search{reinterpret_cast<ElfW(Addr)>(address), found};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}

// For std::random_device. It cannot return an error; like glibc's own, it ends the process if the
// kernel has no getrandom (before 3.17).
__attribute__((visibility("hidden"))) std::uint32_t arc4random() {
  std::uint32_t value = 0;
  if (getentropy(&value, sizeof(value)) != 0) std::abort();
  return value;
}

}  // extern "C"
