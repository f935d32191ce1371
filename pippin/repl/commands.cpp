#include "pippin/repl/commands.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/repl/image_paths.h"

namespace pippin::repl {
namespace {

constexpr const char* kHelp =
    "/set parameter NAME VALUE   temperature, top_k, seed, num_predict, stop ...; no VALUE: the "
    "default\n"
    "/set system TEXT            system message; no TEXT: none\n"
    "/set think [LEVEL]          make the model think; /set nothink: do not\n"
    "/set format json, FILE      JSON answers, with the schema in FILE; /set noformat: any\n"
    "/set verbose, quiet         show speed and context after each answer, or do not\n"
    "/set wordwrap, nowordwrap   wrap between words, or let the terminal wrap lines\n"
    "/set history, nohistory     keep messages for the next chat, or do not\n"
    "/show info, parameters, system, template, context\n"
    "/save FILE                  save the chat; /load FILE continues it\n"
    "/load MODEL                 continue with another model\n"
    "/image FILE                 send an image with the next message; paths in messages do that, "
    "too\n"
    "/video PATH                 the same for an animated GIF, PNG or WebP, or a folder of frames\n"
    "/regen                      answer the last message again\n"
    "/edit                       edit the last message\n"
    "/continue                   continue the last answer\n"
    "/clear                      forget the chat\n"
    "/bye                        leave\n"
    "/? shortcuts                keys\n"
    "\"\"\"                         begins and ends a message of several lines\n";

constexpr const char* kShortcuts =
    "Enter               send                   Ctrl-C   stop the answer; drop the line\n"
    "Alt-Enter           next line              Ctrl-D   leave\n"
    "Up, Down            earlier messages       Ctrl-G   write in $VISUAL or $EDITOR\n"
    "Ctrl-A, Ctrl-E      start, end of line     Ctrl-L   clear the screen\n"
    "Alt-B, Alt-F        one word               Ctrl-Z   suspend\n"
    "Ctrl-W, Ctrl-U, Ctrl-K   cut the previous word, to the start, to the end; Ctrl-Y pastes it\n"
    "Tab                 complete commands and files\n";

constexpr std::array<std::string_view, 16> kCommands = {
    "/?",     "/bye",  "/clear", "/continue", "/edit", "/exit",  "/help",   "/image ",
    "/load ", "/quit", "/regen", "/save ",    "/set ", "/show ", "/video ", "/? shortcuts"};
constexpr std::array<std::string_view, 13> kSettings = {
    "format ", "history", "noformat", "nohistory", "nothink",  "nowordwrap", "parameter ",
    "quiet",   "system ", "think",    "verbose",   "wordwrap", "think "};
constexpr std::array<std::string_view, 5> kShown = {"context", "info", "parameters", "system",
                                                    "template"};

// Removes the first word of a text, with the blanks after it, and returns it.
std::string take_word(std::string& text) {
  const size_t end = std::min(text.find_first_of(" \t\n"), text.size());
  std::string word = text.substr(0, end);
  text.erase(0, std::min(text.find_first_not_of(" \t\n", end), text.size()));
  return word;
}

// Removes the quotes around "..." or """...""".
std::string unquoted(std::string text) {
  for (const std::string_view quotes : {"\"\"\"", "\""}) {
    if (text.size() >= 2 * quotes.size() && text.starts_with(quotes) && text.ends_with(quotes)) {
      return text.substr(quotes.size(), text.size() - 2 * quotes.size());
    }
  }
  return text;
}

[[noreturn]] void usage(std::string_view form) {
  fail(ErrorCode::InvalidArgument, "usage: {} (/? lists all)", form);
}

void set_parameter(Session& session, std::string rest, const Say& say) {
  const std::string name = take_word(rest);
  if (name.empty()) {
    std::string names;
    for (const std::string& one : Dialogue::parameter_names()) names += " " + one;
    return say("/set parameter NAME VALUE, of" + names + "\n");
  }
  std::vector<std::string> values;
  while (!rest.empty()) {
    // Values in quotes may contain blanks.
    const size_t end = rest[0] == '"' ? rest.find('"', 1) : std::string::npos;
    if (end == std::string::npos) {
      values.push_back(take_word(rest));
    } else {
      values.push_back(rest.substr(1, end - 1));
      rest.erase(0, std::min(rest.find_first_not_of(" \t", end + 1), rest.size()));
    }
  }
  session.dialogue.set_parameter(name, values);
}

void set_format(Session& session, const std::string& format) {
  JsonWriter json;
  json.begin_object();
  if (format == "json") {
    json.member("type", "json_object");
  } else {
    json.member("type", "json_schema").key("json_schema").begin_object();
    json.member("name", "answer").member("schema", Json::load(format)).end_object();
  }
  session.dialogue.set_form("response_format", json.end_object().text());
}

void set(Session& session, std::string rest, const Say& say) {
  const std::string what = take_word(rest);
  if (what == "parameter") {
    set_parameter(session, std::move(rest), say);
  } else if (what == "system") {
    session.dialogue.system = unquoted(std::move(rest));
  } else if (what == "think") {
    session.dialogue.thinking = rest.empty() ? "on" : rest;
  } else if (what == "nothink") {
    session.dialogue.thinking = "off";
  } else if (what == "format" && !rest.empty()) {
    set_format(session, unquoted(std::move(rest)));
  } else if (what == "noformat") {
    session.dialogue.set_form("", "");
  } else if (what == "verbose" || what == "quiet") {
    session.is_verbose = what == "verbose";
  } else if (what == "wordwrap" || what == "nowordwrap") {
    session.wraps = what == "wordwrap";
  } else if (what == "history" || what == "nohistory") {
    session.history.set_on(what == "history");
  } else {
    usage(
        "/set "
        "parameter|system|think|nothink|format|noformat|verbose|quiet|wordwrap|nowordwrap|history|"
        "nohistory");
  }
}

std::string parameters_text(Session& session) {
  std::string text;
  for (const auto& [name, value] : session.dialogue.parameters) {
    text += fmt::format("{:<24} {}\n", name, value);
  }
  const Json properties = session.opened.client->properties(session.opened.model.name);
  if (properties.is_object()) {
    const auto settings = properties.find("default_generation_settings");
    const auto defaults = settings ? settings->find("params") : std::nullopt;
    for (const auto& [name, value] :
         defaults ? defaults->members() : std::vector<std::pair<std::string_view, Json>>{}) {
      if (session.dialogue.parameters.contains(std::string(name))) continue;
      text += fmt::format("{:<24} {}   (the model's)\n", name, value.dump());
    }
  }
  return text.empty() ? "The server does not report its defaults.\n" : text;
}

std::string context_text(const Session& session) {
  const AnswerEnd& last = session.last;
  const int64_t used = last.prompt_tokens + last.generated_tokens;
  std::string text = fmt::format("{} tokens", used);
  if (session.opened.model.context > 0) {
    text += fmt::format(" of {}", session.opened.model.context);
  }
  return text + fmt::format(", {} messages\n", session.dialogue.turns.size());
}

std::string info_text(const Session& session) {
  const ModelInfo& model = session.opened.model;
  std::string text = fmt::format("model        {}\n", model.name);
  if (model.context > 0) text += fmt::format("context      {} tokens\n", model.context);
  if (model.vocab_size > 0) text += fmt::format("vocabulary   {} tokens\n", model.vocab_size);
  if (!model.has_chat_template) text += "template     none: the model continues the text\n";
  return text;
}

void show(Session& session, const std::string& what, const Say& say) {
  if (what == "info") {
    say(info_text(session));
  } else if (what == "parameters") {
    say(parameters_text(session));
  } else if (what == "system") {
    const std::string& system = session.dialogue.system;
    say(system.empty() ? "No system message was set.\n" : system + "\n");
  } else if (what == "template") {
    const Json properties = session.opened.client->properties(session.opened.model.name);
    const std::string source =
        properties.is_object() ? properties.get_string_or("chat_template", "") : "";
    say(source.empty() ? "There is no template to show.\n" : source + "\n");
  } else if (what == "context") {
    say(context_text(session));
  } else {
    usage("/show info|parameters|system|template|context");
  }
}

void save(const Session& session, const std::string& file, const Say& say) {
  if (file.empty()) usage("/save FILE");
  session.dialogue.save(file, session.opened.model.name);
  say(fmt::format("Saved {} messages to {}\n", session.dialogue.turns.size(), file));
}

void load(Session& session, const std::string& what, const OpenModel& open, const Say& say) {
  if (what.empty()) usage("/load FILE|MODEL");
  if (std::filesystem::is_regular_file(what)) {
    session.dialogue.load(what);
    say(fmt::format("Loaded {} messages from {}\n", session.dialogue.turns.size(), what));
    return;
  }
  session.opened = open(what);
  session.last = {};
  say(fmt::format("Now {}\n", session.opened.model.name));
}

// `url_of` reads the file.
void add_image(Session& session, const std::string& file, const char* form,
               std::string (*url_of)(const std::filesystem::path& path), const Say& say) {
  if (file.empty()) usage(form);
  if (!session.opened.model.takes_images) {
    fail(ErrorCode::Unsupported, "{} takes text only", session.opened.model.name);
  }
  session.images.push_back(url_of(file));
  say(fmt::format("{} goes with the next message\n", file));
}

void need_answer(const Session& session) {
  if (session.dialogue.turns.empty()) fail(ErrorCode::InvalidArgument, "nothing was said yet");
}

std::vector<std::string> files_like(const std::string& start) {
  namespace fs = std::filesystem;
  const size_t slash = start.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : start.substr(0, slash + 1);
  const std::string name = start.substr(folder.size());
  std::vector<std::string> found;
  std::error_code fault;
  for (fs::directory_iterator entry(folder.empty() ? fs::path(".") : fs::path(folder), fault), end;
       !fault && entry != end; entry.increment(fault)) {
    const std::string other = entry->path().filename().string();
    if (!other.starts_with(name) || (name.empty() && other.starts_with('.'))) continue;
    std::error_code ignored;
    found.push_back(folder + other + (entry->is_directory(ignored) ? "/" : ""));
  }
  std::sort(found.begin(), found.end());
  return found;
}

template <typename List>
std::vector<std::string> like(const List& list, const std::string& head, const std::string& start) {
  std::vector<std::string> found;
  for (const auto& one : list) {
    if (std::string_view(one).starts_with(start)) found.push_back(head + std::string(one));
  }
  return found;
}

}  // namespace

Next run_command(Session& session, const std::string& line, const OpenModel& open, const Say& say) {
  std::string rest = line;
  const std::string command = take_word(rest);
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\n')) rest.pop_back();
  Dialogue& dialogue = session.dialogue;
  if (command == "/?" || command == "/help") {
    say(rest == "shortcuts" ? kShortcuts : kHelp);
  } else if (command == "/set") {
    set(session, rest, say);
  } else if (command == "/show") {
    show(session, rest, say);
  } else if (command == "/save") {
    save(session, rest, say);
  } else if (command == "/load") {
    load(session, rest, open, say);
  } else if (command == "/image") {
    add_image(session, unquoted(std::move(rest)), "/image FILE", image_url, say);
  } else if (command == "/video") {
    add_image(session, unquoted(std::move(rest)), "/video PATH", video_url, say);
  } else if (command == "/clear") {
    dialogue.turns.clear();
    session.images.clear();
    session.last = {};
    say("Forgotten.\n");
  } else if (command == "/regen") {
    need_answer(session);
    if (dialogue.turns.back().role == "assistant") dialogue.turns.pop_back();
    return Next::Answer;
  } else if (command == "/continue") {
    need_answer(session);
    return dialogue.turns.back().role == "assistant" ? Next::Continue : Next::Answer;
  } else if (command == "/edit") {
    need_answer(session);
    return Next::Edit;
  } else if (command == "/bye" || command == "/exit" || command == "/quit") {
    return Next::Leave;
  } else {
    fail(ErrorCode::InvalidArgument,
         "unknown command {} (/? lists all; a blank before it sends it as a message)", command);
  }
  return Next::Prompt;
}

std::vector<std::string> complete_command(const std::string& before) {
  for (const std::string_view head : {"/load ", "/save ", "/image ", "/video "}) {
    if (!before.starts_with(head)) continue;
    return like(files_like(before.substr(head.size())), std::string(head), "");
  }
  for (const std::string head : {"/set parameter ", "/set ", "/show "}) {
    if (!before.starts_with(head)) continue;
    const std::string start = before.substr(head.size());
    if (head == "/set parameter ") return like(Dialogue::parameter_names(), head, start);
    if (head == "/set ") return like(kSettings, head, start);
    return like(kShown, head, start);
  }
  return before.starts_with('/') ? like(kCommands, "", before) : std::vector<std::string>{};
}

}  // namespace pippin::repl
