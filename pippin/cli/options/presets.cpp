#include "pippin/cli/options/presets.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/app/facts/model_facts.h"
#include "pippin/app/open/draft_choice.h"
#include "pippin/base/error.h"
#include "pippin/cli/options/model_entry.h"
#include "pippin/cli/options/model_options.h"
#include "pippin/cli/options/preset_file.h"
#include "pippin/cli/options/suggest.h"
#include "pippin/hub/repo_spec.h"
#include "pippin/runtime/open/package_family.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;
using server::ModelEntry;

constexpr std::string_view kForAll = "*";

// llama-server's names, and short names.
constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
    {"a", "alias"},
    {"c", "context"},
    {"chat-template-file", "chat-template"},
    {"ctx-size", "context"},
    {"draft-n", "draft-max"},
    {"hf", "model"},
    {"hf-repo", "model"},
    {"hfr", "model"},
    {"m", "model"},
    {"md", "draft"},
    {"model-draft", "draft"},
    {"n", "predict"},
    {"n-predict", "predict"},
    {"np", "parallel"},
    {"sleep-idle-seconds", "keep-alive"},
    {"spec-draft-model", "draft"},
    {"spec-draft-n-max", "draft-max"},
    {"t", "threads"},
};

struct Setting {
  std::vector<std::string> texts;
  std::string place;
};
using Settings = std::map<std::string, Setting>;  // by the first long name of the option

// Options of one model: those of `pippin serve`, and those that only sections have.
class PresetOptions {
 public:
  PresetOptions() {
    app_.set_help_flag();
    add_model_options(app_, arguments_);
    app_.add_option("--model", model_)->type_name("MODEL");
    app_.add_option("--alias", aliases_)->type_name("NAME")->allow_extra_args(false);
    app_.add_flag("--pin", arguments_.given.is_pinned);
    app_.add_flag_function("--load-on-startup",
                           [this](int64_t count) { arguments_.given.loads_at_start = count > 0; });
    // llama-server's options that are always on here.
    for (const char* name : {"--jinja", "--mmap", "--cont-batching"}) {
      app_.add_flag_function(name, [name](int64_t count) {
        if (count <= 0) throw CLI::ValidationError(name, "cannot be turned off");
      });
    }
  }

  CLI::Option* find(const std::string& key) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    for (const auto& [spelling, meant] : kSpellings) {
      if (name == spelling) name = meant;
    }
    return name.starts_with("-") ? nullptr : app_.get_option_no_throw("--" + name);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const CLI::Option* option : app_.get_options()) {
      const auto& names = option->get_lnames();
      result.insert(result.end(), names.begin(), names.end());
    }
    for (const auto& [spelling, meant] : kSpellings) result.emplace_back(spelling);
    return result;
  }

  // Throws CLI::ParseError and Error.
  server::ModelSettings parse(const Settings& values) {
    std::vector<std::string> words;
    for (const auto& [name, value] : values) {
      for (const std::string& text : value.texts)
        words.push_back(fmt::format("--{}={}", name, text));
    }
    std::reverse(words.begin(), words.end());  // CLI11 expects this order
    app_.parse(words);
    return arguments_.settings();
  }

 private:
  ModelArguments arguments_;
  std::string model_;
  std::vector<std::string> aliases_;
  CLI::App app_;
};

std::string key_of(const CLI::Option& option) {
  return option.get_lnames().front();
}

// Returns the kind of value that the option expects, for messages.
std::string kind_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "true or false";
  const std::string type = option.get_type_name();
  return type.size() <= 1 ? "a number" : type;
}

// Returns CLI11's message without the option's name, which is part of the place.
std::string reason_of(const CLI::Option& option, const CLI::ParseError& error,
                      const Setting& value) {
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    return fmt::format("expected {}, found \"{}\"", kind_of(option), fmt::join(value.texts, ", "));
  }
  const std::string text = error.what(), prefix = option.get_name() + ": ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// Parses one value alone, so that an error can name its place.
void check_value(const std::string& key, const Setting& value) {
  PresetOptions options;
  CLI::Option* const option = options.find(key);
  if (value.texts.size() != 1 && option->get_items_expected_max() < 2) {
    fail(ErrorCode::InvalidFile, "{}: takes one value, found {}", value.place, value.texts.size());
  }
  if (std::any_of(value.texts.begin(), value.texts.end(),
                  [](const std::string& text) { return text.empty(); })) {
    fail(ErrorCode::InvalidFile, "{}: the value is missing", value.place);
  }
  try {
    option->add_result(value.texts);
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    fail(ErrorCode::InvalidFile, "{}: {}", value.place, reason_of(*option, error, value));
  }
}

[[noreturn]] void fail_unknown(const PresetKey& key, const CLI::App& command) {
  if (command.get_option_no_throw("--" + key.name) != nullptr) {
    fail(ErrorCode::InvalidFile,
         "{}: belongs to the server, not to a model: give --{} to pippin serve", key.place,
         key.name);
  }
  const std::string near = nearest(key.name, PresetOptions().names());
  fail(ErrorCode::InvalidFile, "{}: is not an option of a model{}", key.place,
       near.empty() ? "; pippin serve --help lists them" : " (did you mean " + near + "?)");
}

std::vector<std::string> split_at_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> names;
  for (std::string_view text : texts) {
    for (;;) {
      const size_t comma = std::min(text.find(','), text.size());
      std::string name(text.substr(0, comma));
      name.erase(0, name.find_first_not_of(' '));
      name.erase(name.find_last_not_of(' ') + 1);
      names.push_back(std::move(name));
      if (comma == text.size()) break;
      text.remove_prefix(comma + 1);
    }
  }
  return names;
}

Settings read_values(const PresetSection& section, const CLI::App& command) {
  PresetOptions options;
  Settings values;
  for (const PresetKey& key : section.keys) {
    CLI::Option* const option = options.find(key.name);
    if (option == nullptr) fail_unknown(key, command);
    const std::string name = key_of(*option);
    Setting value{name == "alias" ? split_at_commas(key.values) : key.values, key.place};
    check_value(name, value);
    const auto [kept, is_new] = values.try_emplace(name, value);
    if (is_new) continue;
    if (option->get_items_expected_max() < 2) {
      fail(ErrorCode::InvalidFile, "{}: is given already at {}", key.place, kept->second.place);
    }
    auto& texts = kept->second.texts;
    texts.insert(texts.end(), value.texts.begin(), value.texts.end());
  }
  return values;
}

// Returns the command line's settings of all models.
Settings read_command(const CLI::App& command) {
  ModelArguments arguments;
  CLI::App table;
  add_model_options(table, arguments);
  Settings values;
  for (const CLI::Option* option : table.get_options()) {
    if (option->get_lnames().empty()) continue;
    const CLI::Option* const given = command.get_option_no_throw("--" + key_of(*option));
    if (given == nullptr || given->count() == 0 || given->get_lnames() != option->get_lnames()) {
      continue;
    }
    values[key_of(*option)] = {given->results(), "the command line"};
  }
  return values;
}

// Merges the settings; `first` takes precedence.
Settings over(Settings first, const Settings& second) {
  first.insert(second.begin(), second.end());
  return first;
}

bool is_there(const std::string& text) {
  std::error_code ignored;
  return fs::exists(text, ignored);
}

class Presets {
 public:
  Presets(const fs::path& file, const CLI::App& command) : command_(read_command(command)) {
    for (const PresetSection& section : read_preset_file(file)) {
      Settings values = read_values(section, command);
      if (section.name != kForAll) {
        models_.push_back({section.name, section.place, std::move(values)});
        continue;
      }
      for (const char* own : {"model", "alias"}) {
        const auto found = values.find(own);
        if (found == values.end()) continue;
        fail(ErrorCode::InvalidFile, "{}: belongs to the section of one model",
             found->second.place);
      }
      for_all_ = std::move(values);
    }
    if (models_.empty()) {
      fail(ErrorCode::InvalidFile,
           "{}: has no section for a model, such as [NAME] with model = PATH", file.string());
    }
    name_models();
  }

  std::vector<ModelEntry> entries() {
    std::vector<ModelEntry> entries;
    for (Model& model : models_) {
      if (Model* const same = aliased(model)) {
        auto& aliases = same->entry.aliases;
        aliases.push_back(model.name);
        aliases.insert(aliases.end(), model.aliases.begin(), model.aliases.end());
      }
    }
    for (Model& model : models_) {
      if (aliased(model) != nullptr) continue;
      entries.push_back(entry_of(model));
    }
    return entries;
  }

 private:
  struct Model {
    std::string name, place;
    Settings own;
    std::vector<std::string> aliases = {};
    ModelEntry entry = {};
  };

  void name_models() {
    const auto check_new = [&](const std::string& name, const std::string& place) {
      const auto [kept, is_new] = places_.try_emplace(name, place);
      if (is_new) return;
      fail(ErrorCode::InvalidFile, "{}: the name \"{}\" is taken by {}", place, name, kept->second);
    };
    for (const Model& model : models_) check_new(model.name, model.place);
    for (Model& model : models_) {
      const auto found = model.own.find("alias");
      if (found == model.own.end()) continue;
      for (const std::string& alias : found->second.texts) check_new(alias, found->second.place);
      model.aliases = found->second.texts;
      model.own.erase(found);
    }
  }

  // Returns the section that `model` names; null if it names a file, a folder or a repository.
  Model* base_of(const Model& model) {
    const auto found = model.own.find("model");
    if (found == model.own.end() || is_there(found->second.texts.front())) return nullptr;
    const std::string& name = found->second.texts.front();
    for (Model& other : models_) {
      const auto& aliases = other.aliases;
      if (other.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
        return &other;
      }
    }
    return nullptr;
  }

  // Returns the model that this section is only another name of, if it sets nothing else; else
  // null.
  Model* aliased(Model& model) {
    Model* one = &model;
    Model* result = nullptr;
    std::vector<const Model*> seen;
    while (Model* const base = base_of(*one)) {
      seen.push_back(one);
      if (std::find(seen.begin(), seen.end(), base) != seen.end()) fail_circle(seen, *base);
      if (one->own.size() > 1) break;
      result = one = base;
    }
    return result;
  }

  [[noreturn]] static void fail_circle(const std::vector<const Model*>& seen, const Model& base) {
    std::string names;
    for (const Model* one : seen) names += one->name + " -> ";
    fail(ErrorCode::InvalidFile,
         "{}: {}{} is a circle: one of them has to name a file, a folder or org/name",
         seen.back()->own.at("model").place, names, base.name);
  }

  // Returns the settings, including those of the sections that it is based on.
  Settings values_of(Model& model) {
    std::vector<const Model*> seen;
    Settings values = model.own;
    Model* one = &model;
    while (Model* const base = base_of(*one)) {
      seen.push_back(one);
      if (std::find(seen.begin(), seen.end(), base) != seen.end()) fail_circle(seen, *base);
      values.erase("model");
      values = over(std::move(values), base->own);
      one = base;
    }
    return values;
  }

  ModelEntry entry_of(Model& model) {
    Settings values = values_of(model);
    const auto given = values.find("model");
    const Setting named = given == values.end()
                              ? Setting{{model.name}, model.place + ": has no model = PATH, and"}
                              : given->second;
    values.erase("model");
    values = over(over(command_, values), for_all_);
    ModelEntry entry = model.entry;
    entry.name = model.name;
    entry.path = model_path(named);
    entry.aliases.insert(entry.aliases.begin(), model.aliases.begin(), model.aliases.end());
    check_files(values, entry.path);
    try {
      entry.settings = std::make_shared<server::ModelSettings>(PresetOptions().parse(values));
    } catch (const CLI::ParseError& error) {
      fail(ErrorCode::InvalidFile, "{}: {}", model.place, error.what());
    } catch (const Error& error) {
      fail(error.code(), "{}: {}", model.place, error.what());
    }
    return entry;
  }

  static std::string model_path(const Setting& value) {
    const std::string& text = value.texts.front();
    if (text == "demo" && !is_there(text)) return "";
    if (is_there(text) || hub::parse_repo_spec(text)) return text;
    fail(ErrorCode::NotFound, "{}: {}: there is no such file or folder", value.place, text);
  }

  static void check_adapter(const Settings& values, const std::string& package) {
    const auto found = values.find("adapter");
    if (found == values.end()) return;
    const std::vector<std::string> known = app::read_adapters(package);
    const std::string& name = found->second.texts.front();
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    fail(ErrorCode::NotFound, "{}: {}: {} has {}", found->second.place, name, package,
         known.empty() ? "no adapters"
                       : fmt::format("no such adapter, only {}", fmt::join(known, ", ")));
  }

  static void check_files(const Settings& values, const std::string& model) {
    const auto check = [&](const char* key, bool may_be_elsewhere) {
      const auto found = values.find(key);
      if (found == values.end()) return;
      const std::string& text = found->second.texts.front();
      if (is_there(text) || (may_be_elsewhere && hub::parse_repo_spec(text))) return;
      fail(ErrorCode::NotFound, "{}: {}: there is no such file or folder", found->second.place,
           text);
    };
    check("tokenizer", false);
    check("vad", true);
    check("chat-template", false);
    const auto draft = values.find("draft");
    if (draft != values.end()) {
      const std::string& text = draft->second.texts.front();
      if (!app::is_draft_word(text) && text != "demo") check("draft", true);
    }
    if (is_there(model) && runtime::names_packages(model)) {
      check_adapter(values, model);
    } else if (model.empty() || is_there(model)) {
      check("adapter", false);
    }
  }

  const Settings command_;
  Settings for_all_;
  std::vector<Model> models_;
  std::map<std::string, std::string> places_;  // of all names
};

}  // namespace

std::vector<ModelEntry> read_presets(const fs::path& file, const CLI::App& command) {
  return Presets(file, command).entries();
}

}  // namespace pippin::cli
