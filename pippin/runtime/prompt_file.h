// A prompt cache in one file: the sequence at the end of the last text. A prompt that begins with
// the same tokens continues from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

// Restores as many of the prompt's tokens as the file has and the family can go back to, but not
// all of them, into an empty sequence. Returns their number; the caller feeds the rest. Returns 0
// without a file; also, with a warning in the log, if the file is damaged or belongs to
// another model.
int64_t restore_prompt(Sequence& sequence, const std::filesystem::path& path,
                       std::span<const int32_t> prompt);
// Saves the sequence for the next run. Logs a warning on failure.
void save_prompt(Sequence& sequence, const std::filesystem::path& path);

}  // namespace pippin::runtime
