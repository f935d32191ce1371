// Mapped files that can no longer be read: truncated in place, or on a disk that fails. A read is a
// SIGBUS then, which ends a process without a message.
//
// A program chooses another way for the whole process; the library never does
// (docs/decisions/0032-programs-survive-files-that-are-cut-off.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace pippin {

enum class MappedGuard : uint8_t {
  EndProgram,  // a line on stderr that names the file, and status 1
  MarkFile,    // reads give zeros from there on, and the file counts as damaged
};

// Handles SIGBUS in mapped files; others go to the handler before. May be called again, for another
// way.
void guard_mapped_files(MappedGuard guard);

// The number of files that were ever marked. A result may contain zeros in place of weights if the
// number changed while it was computed (mapped_files() tells which files). Any thread.
uint64_t num_damaged_files() noexcept;

// --- for MappedFile ---

class GuardedRange;
// Guards mapped memory from now on. Null if memory for that is lacking.
GuardedRange* guard_range(const std::byte* data, size_t size,
                          const std::filesystem::path& path) noexcept;
// Must be called before the memory is unmapped.
void release_range(GuardedRange* range) noexcept;
bool is_damaged(const GuardedRange* range) noexcept;

}  // namespace pippin
