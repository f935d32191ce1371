// What begins with "/" in a chat.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pippin/repl/session.h"

namespace pippin::repl {

// What the chat does after a command.
enum class Next {
  Prompt,
  Answer,    // the last turn, anew
  Continue,  // the last answer
  Edit,      // the last message
  Leave,
};

// Shows text of several lines.
using Say = std::function<void(const std::string& text)>;

// `line` begins with "/". Throws Error for what the command cannot do: nothing has changed then.
Next run_command(Session& session, const std::string& line, const OpenModel& open, const Say& say);

// What a text that begins with "/" may go on with, as whole texts: commands, their arguments,
// files.
std::vector<std::string> complete_command(const std::string& before);

}  // namespace pippin::repl
