// Decides which positional argument is the model and which is the prompt.
#pragma once

#include <optional>
#include <string>

namespace pippin::cli {

// Whether a single argument names a model: the file exists, or it looks like a path.
bool looks_like_model(const std::string& argument);

struct RunArguments {
  std::string model;                  // empty: the demo model
  std::optional<std::string> prompt;  // empty: from another source
};
// A single argument of the form org/name is a model only if the prompt can come from a file or
// stdin: "and/or" is a prompt.
RunArguments split_run_arguments(const std::optional<std::string>& first,
                                 const std::optional<std::string>& second,
                                 bool prompt_elsewhere = false);

// Joins a piped text and a question about it: the text, a blank line (unless `raw`) and the
// question. A text of blanks only counts as absent.
std::string join_piped(std::string piped, const std::string& prompt, bool raw);

}  // namespace pippin::cli
