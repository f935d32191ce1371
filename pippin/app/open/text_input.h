// Texts named on the command line: a file, a pipe (`<(command)`), or - for standard input.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pippin::app {

inline constexpr size_t kMostTextBytes = size_t{256} << 20;

// Reads everything. Throws NotFound, Io (a folder, a read error), LimitExceeded beyond
// `most_bytes`, Cancelled if Ctrl-C interrupts a wait.
std::string read_text(const std::string& file, size_t most_bytes = kMostTextBytes);

// Calls for each line as soon as it arrives, without its line break, with its number from 1;
// includes a last line without a line break. Throws as read_text(), with the limit applied to each
// line.
void for_each_line(const std::string& file,
                   const std::function<void(std::string_view line, int64_t number)>& use,
                   size_t most_bytes = kMostTextBytes);

// Calls for the bytes as they arrive, at least one at a time; a pipe keeps more of them meanwhile
// where the system can. Throws as read_text().
void for_each_block(const std::string& file,
                    const std::function<void(std::string_view bytes)>& use);

bool stdin_is_terminal();

// Reads all of standard input, unless it is a terminal: a pipe or a file; empty if it is closed.
// Nullopt for a pipe that neither delivers a byte nor ends within `patience`. Throws as
// read_text().
std::optional<std::string> read_piped_text(std::chrono::milliseconds patience);

}  // namespace pippin::app
