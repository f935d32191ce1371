#include "pippin/cli/command_tree.h"

#include <CLI/CLI.hpp>

#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

void write_option(JsonWriter& json, const CLI::Option& option, bool is_positional) {
  json.begin_object();
  if (!is_positional) {
    json.key("names").begin_array();
    for (const std::string& name : option.get_snames()) json.value("-" + name);
    for (const std::string& name : option.get_lnames()) json.value("--" + name);
    json.end_array();
    json.member("type", option.get_type_name());
    json.member("is_flag", option.get_expected_min() == 0);
  } else {
    json.member("name", option.get_name(/*positional=*/true));
  }
  json.member("description", option.get_description()).end_object();
}

void write_options(JsonWriter& json, const CLI::App& app, bool is_positional) {
  json.key(is_positional ? "arguments" : "options").begin_array();
  for (const CLI::Option* option : app.get_options()) {
    const bool is_meant = is_positional ? option->get_positional() : option->nonpositional();
    if (is_meant && !option->get_group().empty()) {
      write_option(json, *option, is_positional);
    }
  }
  json.end_array();
}

void write_app(JsonWriter& json, const CLI::App& app) {
  json.begin_object().member("name", app.get_name()).member("description", app.get_description());
  json.member("footer", app.get_footer());
  write_options(json, app, false);
  write_options(json, app, true);
  json.key("commands").begin_array();
  // Hidden commands are left out.
  const auto is_shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(is_shown)) {
    write_app(json, *command);
  }
  json.end_array().end_object();
}

}  // namespace

std::string command_tree_json(const CLI::App& app) {
  JsonWriter json(1);
  write_app(json, app);
  return json.text() + "\n";
}

}  // namespace pippin::cli
