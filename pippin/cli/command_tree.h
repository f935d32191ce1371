// All commands and options as data, from which packaging/make_docs.py generates manual pages and
// completions, so that these match the program.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace pippin::cli {

// {"name", "description", "footer", "options": [{"names", "type", "description", "is_flag"}],
// "arguments": [{"name", "description"}], "commands": [...]}
std::string command_tree_json(const CLI::App& app);

}  // namespace pippin::cli
