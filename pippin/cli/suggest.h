// Corrections of mistyped commands and options.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pippin::cli {

// The word that `word` is a slip of: the begin of it, or one or two letters away (Damerau and
// Levenshtein's distance); empty: none is so near.
std::string nearest(const std::string& word, const std::vector<std::string>& words);

// " (did you mean --temp?)" where the first argument that `app` did not expect is nearly an option
// of the command at hand; else empty.
std::string suggestion(const CLI::App& app);

// `"rnu" is not a command (did you mean run?)` where an argument of `app`, or of a command that has
// commands of its own, stands in the place of one; else empty.
std::string unknown_command(const CLI::App& app);

}  // namespace pippin::cli
