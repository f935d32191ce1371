// Which positional argument is what.
#pragma once

#include <optional>
#include <string>

namespace pippin::cli {

// Whether a single argument names a model: it exists, or has the form of a path.
bool looks_like_model(const std::string& argument);

struct RunArguments {
  std::string model;                  // empty: the demo model
  std::optional<std::string> prompt;  // nothing: from elsewhere
};
// One argument like org/name is a model where the prompt can come from elsewhere, a file or stdin:
// "and/or" is a prompt, too.
RunArguments split_run_arguments(const std::optional<std::string>& first,
                                 const std::optional<std::string>& second,
                                 bool prompt_elsewhere = false);

// The prompt of a piped text and a question about it: the text first, a blank line
// between them unless they are to be joined `raw`. A text of blanks alone counts as absent.
std::string join_piped(std::string piped, const std::string& prompt, bool raw);

}  // namespace pippin::cli
