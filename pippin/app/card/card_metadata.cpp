#include "pippin/app/card/card_metadata.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/files/file.h"
#include "pippin/io/json.h"
#include "pippin/io/yaml.h"

namespace pippin::app {
namespace {

constexpr size_t kMostCardBytes = size_t{4} << 20;

// The text between the first line --- and the next; else empty.
std::string front_matter(std::string text) {
  std::erase(text, '\r');
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  if (!text.starts_with("---\n")) return "";
  const size_t end = text.find("\n---", 3);
  return end == std::string::npos ? "" : text.substr(4, end - 3);
}

std::string text_of(const Json& yaml, const char* key) {
  const auto value = yaml.find(key);
  return value && value->is_string() ? std::string(value->as_string()) : "";
}

// A text or a list of texts.
std::vector<std::string> texts_of(const Json& yaml, const char* key) {
  const auto value = yaml.find(key);
  if (!value) return {};
  if (value->is_string()) return {std::string(value->as_string())};
  std::vector<std::string> texts;
  if (!value->is_array()) return texts;
  for (const Json& one : value->elements()) {
    // YAML 1.1 reads the language no (Norwegian) as false; parse_yaml() does not.
    if (one.is_string()) texts.emplace_back(one.as_string());
  }
  return texts;
}

// Plain if no reader can take it for something else, otherwise quoted as in JSON.
std::string yaml_text(const std::string& text) {
  const bool is_plain = !text.empty() && text.size() < 200 &&
                        std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                        std::all_of(text.begin(), text.end(), [](char c) {
                          return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
                                 c == '_' || c == '.' || c == '/';
                        });
  static const std::vector<std::string> words = {"true", "false", "null", "yes", "no",
                                                 "on",   "off",   "y",    "n"};
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (is_plain && std::find(words.begin(), words.end(), lower) == words.end()) return text;
  JsonWriter writer;
  writer.value(text);
  return writer.text();
}

}  // namespace

CardMetadata read_card_metadata(const std::filesystem::path& readme) {
  CardMetadata metadata;
  const std::string text = front_matter(read_file(readme, kMostCardBytes));
  if (text.empty()) return metadata;
  const Json yaml = parse_yaml(text, readme.filename().string());
  if (!yaml.is_object()) return metadata;
  metadata.license = text_of(yaml, "license");
  metadata.license_name = text_of(yaml, "license_name");
  metadata.license_link = text_of(yaml, "license_link");
  metadata.languages = texts_of(yaml, "language");
  metadata.pipeline_tag = text_of(yaml, "pipeline_tag");
  return metadata;
}

std::string write_card_metadata(const CardMetadata& metadata) {
  std::string text = "---\n";
  const auto member = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}: {}\n", name, yaml_text(value));
  };
  const auto list = [&](const char* name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    text += fmt::format("{}:\n", name);
    for (const std::string& value : values) text += fmt::format("- {}\n", yaml_text(value));
  };
  member("base_model", metadata.base_model);
  member("base_model_relation", metadata.base_model_relation);
  member("library_name", metadata.library_name);
  member("pipeline_tag", metadata.pipeline_tag);
  member("license", metadata.license);
  member("license_name", metadata.license_name);
  member("license_link", metadata.license_link);
  list("language", metadata.languages);
  list("tags", metadata.tags);
  list("quantization", metadata.quantization);
  return text + "---\n";
}

}  // namespace pippin::app
