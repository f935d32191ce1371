// A prompt cache of one file: the sequence as it was at the end of the last text. A prompt that
// begins with the same tokens goes on from there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

// Brings an empty sequence to as many of the prompt's tokens as the file has and the family can go
// back to, but not to all of them, and returns how many; the others are still to be fed. None where
// there is no file; none, and a line of the log, where it is damaged or another model's.
int64_t restore_prompt(Sequence& sequence, const std::filesystem::path& path,
                       std::span<const int32_t> prompt);
// Saves the sequence for the next one. A line of the log where that fails.
void save_prompt(Sequence& sequence, const std::filesystem::path& path);

}  // namespace pippin::runtime
