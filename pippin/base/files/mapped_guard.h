// Handles mapped files that can no longer be read, because they were truncated in place or their
// disk failed. A read then raises SIGBUS, which ends a process without a message.
//
// A program chooses another behaviour for the whole process; the library never does
// (docs/decisions/0032-programs-survive-files-that-are-cut-off.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace pippin {

enum class MappedGuard : uint8_t {
  EndProgram,  // prints a line to stderr with the file's name, and exits with status 1
  MarkFile,    // reads return zeros from there on, and the file is marked as damaged
};

// Handles SIGBUS in mapped files, and passes others to the previous handler. Can be called again to
// change the behaviour.
void guard_mapped_files(MappedGuard guard);

// Returns the number of files marked so far. If the number changed during a computation, its result
// may contain zeros in place of weights (mapped_files() lists the files). Thread-safe.
uint64_t num_damaged_files() noexcept;

// --- for MappedFile ---

class GuardedRange;
// Guards mapped memory from now on. Returns null if the entry cannot be allocated.
GuardedRange* guard_range(const std::byte* data, size_t size,
                          const std::filesystem::path& path) noexcept;
// Call before the memory is unmapped.
void release_range(GuardedRange* range) noexcept;
bool is_damaged(const GuardedRange* range) noexcept;

}  // namespace pippin
