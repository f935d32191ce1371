// Chat commands, which begin with "/".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pippin/repl/session.h"

namespace pippin::repl {

// The next action of the chat after a command.
enum class Next {
  Prompt,
  Answer,    // regenerate the last answer
  Continue,  // continue the last answer
  Edit,      // edit the last message
  Leave,
};

// Shows text that may have several lines.
using Say = std::function<void(const std::string& text)>;

// `line` begins with "/". Throws Error if the command fails; nothing has changed then.
Next run_command(Session& session, const std::string& line, const OpenModel& open, const Say& say);

// Returns the completions of a text that begins with "/", as whole texts: commands, their
// arguments, files.
std::vector<std::string> complete_command(const std::string& before);

}  // namespace pippin::repl
