// A chat at a terminal or on standard input: its model, its turns and its settings.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pippin/repl/client.h"
#include "pippin/repl/dialogue.h"
#include "pippin/shell/chat_tool.h"
#include "pippin/terminal/history.h"

namespace pippin::repl {

struct Opened {
  std::unique_ptr<Client> client;
  ModelInfo model;
};
// Opens a model by the user's name for it. Throws as app::open_model(), or NotFound with the
// available names.
using OpenModel = std::function<Opened(const std::string& model)>;

struct Session {
  Opened opened;
  Dialogue dialogue;
  terminal::History history;
  std::vector<shell::ChatTool> tools;  // tools that the model may call
  bool allows_tools = false;           // all tools, without confirmation
  AnswerEnd last;                      // of the last answer
  std::vector<std::string> images;     // data URLs, for the next message
  std::string greeting;                // the first line at a terminal; may be empty
  bool is_verbose = false;             // shows speed and context after each answer
  bool wraps = true;                   // wraps lines between words
};

}  // namespace pippin::repl
