// A chat at a terminal or on standard input: what it talks to and what it has said.
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
// Opens what a user calls a model. Throws as app::open_model(), or NotFound with the names that
// there are.
using OpenModel = std::function<Opened(const std::string& model)>;

struct Session {
  Opened opened;
  Dialogue dialogue;
  terminal::History history;
  std::vector<shell::ChatTool> tools;  // that the model may call
  bool allows_tools = false;           // all of them, without being asked
  AnswerEnd last;                      // of the last answer
  std::string greeting;                // the first line at a terminal; empty: none
  bool is_verbose = false;             // tells of speed and context after each answer
  bool wraps = true;                   // words that do not fit go to the next line
};

}  // namespace pippin::repl
