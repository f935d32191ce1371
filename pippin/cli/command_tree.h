// The commands and options that there are, as data: for manual pages and completions
// (packaging/make_docs.py), which so never differ from what the program takes.
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
