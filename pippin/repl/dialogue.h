// What a chat has been so far and how answers are to be made: what is sent to the server, and what
// /save and /load keep.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::repl {

struct ToolCall {
  std::string id, name, arguments;
};

struct Turn {
  std::string role;  // "user", "assistant", or "tool": what a call came to
  std::string content;
  std::string reasoning;             // an answer's thoughts
  std::vector<ToolCall> calls = {};  // of an answer
  std::string call_id = {};          // of "tool"
};

class Dialogue {
 public:
  std::string system;
  std::vector<Turn> turns;
  // Fields of a request as JSON: {"temperature": "0.7"}.
  std::map<std::string, std::string> parameters;
  std::string tools;  // a list, as JSON; empty: none
  // How much the model thinks: "on", "off", or an effort that its template knows; empty: as it
  // likes.
  std::string thinking;

  // Sets a parameter by the name that ollama, llama.cpp or OpenAI have for it. Throws
  // InvalidArgument for an unknown one and for a value of another kind. `value` empty: the default.
  void set_parameter(const std::string& name, const std::vector<std::string>& values);
  // What answers have to be: a member of a request ("response_format", "grammar" ...) and its
  // value as JSON, in place of what was set before. An empty name: anything.
  void set_form(const std::string& field, const std::string& json);
  // The names that set_parameter() takes.
  static std::vector<std::string> parameter_names();

  // The members of a request: messages and settings. A last answer is continued if `continues`.
  void write_request(JsonWriter& json, bool continues) const;
  // All texts, one after the other: what a model without a template goes on with.
  std::string plain_text() const;
  void write_settings(JsonWriter& json) const;

  // A request's body, which other programs can send as well. save() throws Io, and replaces a file
  // at once; load() throws NotFound, InvalidFile, and has changed nothing then.
  void save(const std::filesystem::path& path, const std::string& model) const;
  void load(const std::filesystem::path& path);

 private:
  void write_messages(JsonWriter& json) const;
};

}  // namespace pippin::repl
