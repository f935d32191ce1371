// The turns of a chat and its settings: the content of requests, and of files for /save and /load.
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
  std::string role;  // "user", "assistant", or "tool": the result of a call
  std::string content;
  std::string reasoning;                 // the thoughts of an answer
  std::vector<ToolCall> calls = {};      // in an answer
  std::string call_id = {};              // for "tool"
  std::vector<std::string> images = {};  // data URLs, before the content
};

class Dialogue {
 public:
  std::string system;
  std::vector<Turn> turns;
  // Request fields as JSON: {"temperature": "0.7"}.
  std::map<std::string, std::string> parameters;
  std::string tools;  // a list as JSON; empty: none
  // The amount of thinking: "on", "off", or an effort that its template supports; empty: the
  // default.
  std::string thinking;

  // Sets a parameter, with its name in ollama, llama.cpp or OpenAI. Throws InvalidArgument for an
  // unknown name or a value of the wrong kind. Empty `values` restore the default.
  void set_parameter(const std::string& name, const std::vector<std::string>& values);
  // Constrains answers: a request field ("response_format", "grammar" ...) and its JSON value,
  // replacing an earlier constraint. An empty name removes it.
  void set_form(const std::string& field, const std::string& json);
  // Returns the names that set_parameter() accepts.
  static std::vector<std::string> parameter_names();

  // Writes the members of a request: messages and settings. With `continues`, continues the last
  // answer.
  void write_request(JsonWriter& json, bool continues) const;
  // Returns the concatenated texts, which a model without a template continues.
  std::string plain_text() const;
  void write_settings(JsonWriter& json) const;

  // The file has a request's body, which other programs can also send. save() throws Io, and
  // replaces a file atomically; load() throws NotFound or InvalidFile without changing anything.
  void save(const std::filesystem::path& path, const std::string& model) const;
  void load(const std::filesystem::path& path);

 private:
  void write_messages(JsonWriter& json) const;
};

}  // namespace pippin::repl
