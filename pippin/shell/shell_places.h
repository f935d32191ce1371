// Finds the placeholders for arguments in a shell command: {word}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pippin::shell {

struct ShellPlace {
  size_t begin = 0, end = 0;  // in the command; includes quotes around a lone placeholder
  std::string_view word;
};

// Returns the placeholders in order. The shell's own ${word}, an escaped \{word} and placeholders
// in comments do not count. Throws InvalidArgument for a placeholder among other quoted text: the
// argument would become part of that text, which is often a program (sh -c, awk), and its quotes
// would end the surrounding ones.
std::vector<ShellPlace> find_shell_places(std::string_view command);

// Quotes a text as one word for the shell.
std::string shell_quoted(std::string_view text);

}  // namespace pippin::shell
