#include "pippin/chat/template_sources.h"

#include <algorithm>
#include <optional>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/chat/json.h"
#include "pippin/io/model_files.h"

namespace pippin::chat {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxConfigBytes = 64 << 20;
constexpr size_t kMaxTemplates = 256;

Dict read_object(const fs::path& path) {
  if (!fs::exists(path)) return {};
  const Value parsed = parse_json(read_file(path, kMaxConfigBytes), path.string(), kPythonJson);
  if (!parsed.is_dict()) {
    fail(ErrorCode::InvalidFile, "{}: not a JSON object", path.string());
  }
  return parsed.dict();
}

const std::string* string_member(const Dict& dict, const char* key) {
  const Value* found = dict.find(key);
  return found != nullptr && found->is_string() ? &found->string() : nullptr;
}

// Returns the text of "<s>", or of the object form {"content": "<s>", ...}.
std::optional<std::string> token_text(const Value& value) {
  if (value.is_string()) return value.string();
  if (!value.is_dict()) return std::nullopt;
  const std::string* content = string_member(value.dict(), "content");
  return content == nullptr ? std::nullopt : std::optional(*content);
}

void add_special_tokens(Dict& tokens, const Dict& config) {
  const auto add = [&](const Value& name, const Value& value) {
    if (tokens.find(name) != nullptr) return;
    if (const auto text = token_text(value)) tokens.set(name, *text);
  };
  for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                           "cls_token", "mask_token"}) {
    if (const Value* value = config.find(name)) add(name, *value);
  }
  // A model's own tokens, such as {"image_token": "<image>"}.
  const Value* extra = config.find("extra_special_tokens");
  if (extra == nullptr || !extra->is_dict()) return;
  for (const auto& [name, value] : extra->dict().entries()) add(name, value);
}

// Adds the chat_template of a config.
void add_templates(TemplateSources& sources, const Dict& config, const std::string& place) {
  const Value* found = config.find("chat_template");
  if (found == nullptr || found->is_none()) return;
  if (found->is_string()) {
    sources.templates.push_back({"default", found->string(), place});
    return;
  }
  if (!found->is_list()) {
    fail(ErrorCode::InvalidFile, "{}: chat_template is neither a string nor a list", place);
  }
  if (found->list().items.size() > kMaxTemplates) {
    fail(ErrorCode::LimitExceeded, "{}: {} chat templates, at most {} are read", place,
         found->list().items.size(), kMaxTemplates);
  }
  for (const auto& entry : found->list().items) {  // {"name": "default", "template": "..."}
    if (!entry.is_dict()) continue;
    const std::string* name = string_member(entry.dict(), "name");
    const std::string* text = string_member(entry.dict(), "template");
    if (name != nullptr && text != nullptr) sources.templates.push_back({*name, *text, place});
  }
}

void add_template_file(TemplateSources& sources, std::string name, const fs::path& path) {
  sources.templates.push_back({std::move(name), read_file(path, kMaxTemplateBytes), path.string()});
}

}  // namespace

const TemplateSource* TemplateSources::find(std::string_view name) const {
  const auto found = std::find_if(templates.begin(), templates.end(),
                                  [&](const auto& one) { return one.name == name; });
  return found == templates.end() ? nullptr : &*found;
}

std::string TemplateSources::names() const {
  std::string list;
  for (const auto& one : templates) list += (list.empty() ? "" : ", ") + one.name;
  return list;
}

TemplateSources read_template_folder(const fs::path& folder) {
  TemplateSources sources;
  const fs::path config_path = folder / "tokenizer_config.json";
  const Dict config = read_object(config_path);
  add_special_tokens(sources.special_tokens, config);
  add_special_tokens(sources.special_tokens, read_object(folder / "special_tokens_map.json"));
  const auto files = files_of_role(folder, FileRole::ChatTemplate);
  for (const fs::path& file : files) {
    if (file.extension() != ".jinja") continue;
    add_template_file(sources, file.parent_path() == folder ? "default" : file.stem().string(),
                      file);
  }
  if (sources.templates.empty()) add_templates(sources, config, config_path.string());
  for (const fs::path& file : files) {
    if (file.extension() != ".json" || !sources.templates.empty()) continue;
    add_templates(sources, read_object(file), file.string());
  }
  return sources;
}

TemplateSources read_template_file(const fs::path& file) {
  TemplateSources sources;
  if (file.extension() == ".json") {
    const Dict config = read_object(file);
    add_special_tokens(sources.special_tokens, config);
    add_templates(sources, config, file.string());
  } else {
    add_template_file(sources, "default", file);
  }
  return sources;
}

}  // namespace pippin::chat
