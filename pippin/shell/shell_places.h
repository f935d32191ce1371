// The places of arguments in a command of the shell: {word}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pippin::shell {

struct ShellPlace {
  size_t begin = 0, end = 0;  // in the command, with the quotes around it where it is alone in them
  std::string_view word;
};

// In order. The shell's own ${word}, an escaped \{word} and those in comments are not places.
// Throws InvalidArgument for a place among other text within quotes: there an argument would be
// part of the text, often of a program (sh -c, awk), and its own quotes would end those around it.
std::vector<ShellPlace> find_shell_places(std::string_view command);

// As one word for the shell.
std::string shell_quoted(std::string_view text);

}  // namespace pippin::shell
