#include "pippin/cli/options/suggest.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace pippin::cli {
namespace {

// The number of letters inserted, deleted, replaced, or swapped with their neighbour.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  const auto is_shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(is_shown)) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string question(const std::string& word) {
  return word.empty() ? "" : " (did you mean " + word + "?)";
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& words) {
  std::string best;
  // Almost every short word is near another one.
  size_t least = word.size() < 4 ? 2 : 3;
  for (const std::string& one : words) {
    const bool is_begin = word.size() >= 3 && word.find_first_not_of('-') < 3 &&
                          one.starts_with(word) && word != "--";
    const size_t steps = is_begin ? 1 : distance(word, one);
    if (steps < least) {
      least = steps;
      best = one;
    }
  }
  return best;
}

std::string suggestion(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  for (const std::string& argument : app.remaining(/*recurse=*/true)) {
    const std::string word = argument.substr(0, argument.find('='));
    return word.starts_with("-") ? question(nearest(word, options_of(*command))) : "";
  }
  return "";
}

std::string unknown_command(const CLI::App& app) {
  const std::vector<std::string> commands = commands_of(app);
  if (commands.empty()) return "";
  for (const std::string& word : app.remaining()) {
    if (word.starts_with("-")) continue;
    return "\"" + word + "\" is not a command" + question(nearest(word, commands));
  }
  for (const CLI::App* command : app.get_subcommands()) {
    if (std::string found = unknown_command(*command); !found.empty()) return found;
  }
  return "";
}

}  // namespace pippin::cli
