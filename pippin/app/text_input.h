// Texts that the command line names: a file, a pipe (`<(command)`), or - for standard input.
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

// All of it. Throws NotFound, Io (a folder, what cannot be read), LimitExceeded beyond
// `most_bytes`, Cancelled where Ctrl-C ends a wait.
std::string read_text(const std::string& file, size_t most_bytes = kMostTextBytes);

// Calls for each line when it is there, without its end, and its number from 1 on; a last one
// without an end counts. Throws as read_text(), the limit being that of a line.
void for_each_line(const std::string& file,
                   const std::function<void(std::string_view line, int64_t number)>& use,
                   size_t most_bytes = kMostTextBytes);

bool stdin_is_terminal();

// All of standard input, where it is not a terminal: a pipe, a file, or nothing if it is closed.
// No value for a pipe that neither brings a byte nor ends within `patience`. Throws as read_text().
std::optional<std::string> read_piped_text(std::chrono::milliseconds patience);

}  // namespace pippin::app
