#include "pippin/cli/options/preset_file.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "pippin/app/open/text_input.h"
#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r", kVersion = "version";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool begins_comment(char c) {
  return c == ';' || c == '#';
}

// Removes a comment, which begins a line or follows a blank.
std::string_view without_comment(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const bool may_begin = i == 0 || kBlanks.find(line[i - 1]) != std::string_view::npos;
    if (begins_comment(line[i]) && may_begin) return line.substr(0, i);
  }
  return line;
}

void check_new(const std::vector<PresetSection>& sections, std::string_view name,
               const std::string& place) {
  if (name.empty()) fail(ErrorCode::InvalidFile, "{}: a section needs the name of a model", place);
  for (const PresetSection& other : sections) {
    if (other.name != name) continue;
    fail(ErrorCode::InvalidFile, "{}: there is such a section already at {}: join the two", place,
         other.place);
  }
}

void check_version(const std::string& place, std::string_view value) {
  if (value == "1") return;
  fail(ErrorCode::InvalidFile, "{}: {} is not supported (supported: 1)", place, value);
}

class IniReader {
 public:
  explicit IniReader(std::string file) : file_(std::move(file)) {}

  std::vector<PresetSection> read(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      take(trimmed(without_comment(text.substr(0, end))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(sections_);
  }

 private:
  std::string place(std::string_view what) const {
    return fmt::format("{}:{}: {}", file_, line_, what);
  }

  void take(std::string_view line) {
    if (line.empty()) return;
    if (line.front() == '[') return take_section(line);
    const size_t equals = line.find('=');
    const std::string_view name = trimmed(line.substr(0, std::min(equals, line.size())));
    if (equals == std::string_view::npos || name.empty()) {
      fail(ErrorCode::InvalidFile, "{}", place("expected [section] or key = value"));
    }
    const std::string_view value = trimmed(line.substr(equals + 1));
    if (!sections_.empty()) {
      sections_.back().keys.push_back({std::string(name), {std::string(value)}, place(name)});
    } else if (name == kVersion) {
      check_version(place(name), value);
    } else {
      fail(ErrorCode::InvalidFile, "{}: stands before the first section; [*] is for all models",
           place(name));
    }
  }

  void take_section(std::string_view line) {
    if (line.back() != ']') {
      fail(ErrorCode::InvalidFile, "{}", place("the name of the section lacks its ]"));
    }
    const std::string_view name = trimmed(line.substr(1, line.size() - 2));
    check_new(sections_, name, place(line));
    sections_.push_back({std::string(name), {}, place(line)});
  }

  const std::string file_;
  int64_t line_ = 0;
  std::vector<PresetSection> sections_;
};

std::string text_of(const Json& value) {
  return value.is_string() ? std::string(value.as_string()) : value.dump();
}

PresetKey key_of(std::string_view name, const Json& value) {
  PresetKey key{std::string(name), {}, value.where()};
  if (!value.is_array()) {
    key.values.push_back(text_of(value));
    return key;
  }
  for (const Json& element : value.elements()) {
    if (element.is_array() || element.is_object() || element.is_null()) {
      element.invalid("expected a text, a number, true or false");
    }
    key.values.push_back(text_of(element));
  }
  return key;
}

std::vector<PresetSection> read_json(std::string_view text, const std::string& file) {
  const Json whole = Json::parse(text, file, {.unique_keys = true});
  if (!whole.is_object()) whole.invalid("expected an object with a member for each model");
  std::vector<PresetSection> sections;
  for (const auto& [name, value] : whole.members()) {
    if (name == kVersion && !value.is_object()) {
      check_version(value.where(), value.dump());
      continue;
    }
    if (!value.is_object()) value.invalid("expected an object with the options of a model");
    check_new(sections, name, value.where());
    PresetSection section{std::string(name), {}, value.where()};
    for (const auto& [key, option] : value.members()) {
      if (!option.is_null()) section.keys.push_back(key_of(key, option));
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace

std::vector<PresetSection> read_preset_file(const std::filesystem::path& path) {
  const std::string text = app::read_text(path.string());
  if (!is_valid_utf8(text)) fail(ErrorCode::InvalidFile, "{}: not UTF-8", path.string());
  std::string_view content = text;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  const size_t first = content.find_first_not_of(" \t\r\n");
  const bool is_json =
      path.extension() == ".json" || (first != std::string_view::npos && content[first] == '{');
  auto sections =
      is_json ? read_json(content, path.string()) : IniReader(path.string()).read(content);
  return sections;
}

}  // namespace pippin::cli
