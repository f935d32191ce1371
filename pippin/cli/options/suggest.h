// Corrections of mistyped commands and options.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pippin::cli {

// The word that `word` is probably a typo of: it begins with `word`, or is one or two letters away
// (Damerau-Levenshtein distance); empty if none exists.
std::string nearest(const std::string& word, const std::vector<std::string>& words);

// " (did you mean --temp?)" if the first argument that `app` did not expect is close to an option
// of the current command; else empty.
std::string suggestion(const CLI::App& app);

// `"rnu" is not a command (did you mean run?)` if an argument takes the place of a command of
// `app`, or of a command with subcommands; else empty.
std::string unknown_command(const CLI::App& app);

}  // namespace pippin::cli
