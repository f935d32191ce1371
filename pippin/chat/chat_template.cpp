#include "pippin/chat/chat_template.h"

#include "pippin/base/error.h"
#include "pippin/base/file.h"
#include "pippin/chat/json.h"

namespace pippin {
namespace {

using chat::Dict;
using chat::Value;

constexpr size_t kMaxTemplateBytes = 1 << 20;
constexpr size_t kMaxConfigBytes = 64 << 20;

// "<s>", or the object form {"content": "<s>", ...}.
std::optional<std::string> token_text(const Value& value) {
  if (value.is_string()) return value.string();
  if (!value.is_dict()) return std::nullopt;
  const Value* content = value.dict().find("content");
  if (content == nullptr || !content->is_string()) return std::nullopt;
  return content->string();
}

Dict special_tokens(const Dict& config) {
  Dict tokens;
  for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                           "cls_token", "mask_token"}) {
    const Value* value = config.find(name);
    if (value == nullptr) continue;
    if (const auto text = token_text(*value)) tokens.set(name, *text);
  }
  return tokens;
}

std::optional<std::string> template_text(const Dict& config, const std::string& place) {
  const Value* found = config.find("chat_template");
  if (found == nullptr || found->is_none()) return std::nullopt;
  if (found->is_string()) return found->string();
  if (found->is_list()) {  // [{"name": "default", "template": "..."}, ...]
    for (const auto& entry : found->list().items) {
      if (!entry.is_dict()) continue;
      const Value* name = entry.dict().find("name");
      const Value* text = entry.dict().find("template");
      if (name != nullptr && name->is_string() && name->string() == "default" && text != nullptr &&
          text->is_string()) {
        return text->string();
      }
    }
    fail(ErrorCode::Unsupported, "{}: none of the chat templates is named 'default'", place);
  }
  fail(ErrorCode::InvalidFile, "{}: chat_template is neither a string nor a list", place);
}

}  // namespace

std::optional<ChatTemplate> ChatTemplate::from_folder(const std::filesystem::path& model_folder) {
  const auto config_path = model_folder / "tokenizer_config.json";
  const auto template_path = model_folder / "chat_template.jinja";
  Dict config;
  if (std::filesystem::exists(config_path)) {
    const Value parsed =
        chat::parse_json(read_file(config_path, kMaxConfigBytes), config_path.string());
    if (!parsed.is_dict()) {
      fail(ErrorCode::InvalidFile, "{}: not a JSON object", config_path.string());
    }
    config = parsed.dict();
  }
  const bool separate = std::filesystem::exists(template_path);
  const auto source = separate ? read_file(template_path, kMaxTemplateBytes)
                               : template_text(config, config_path.string());
  if (!source) return std::nullopt;
  const auto place = (separate ? template_path : config_path).string();
  return with_context(place, [&] { return from_source(*source, special_tokens(config)); });
}

ChatTemplate ChatTemplate::from_source(std::string_view source, const Value& special_tokens) {
  return {chat::Template::parse(source), special_tokens};
}

std::string ChatTemplate::render(std::span<const Message> messages,
                                 bool add_generation_prompt) const {
  std::vector<Value> list;
  for (const auto& message : messages) {
    list.emplace_back(Dict{{"role", message.role}, {"content", message.content}});
  }
  return render(Dict{{"messages", Value(std::move(list))}}, add_generation_prompt);
}

std::string ChatTemplate::render(const Dict& context, bool add_generation_prompt,
                                 const chat::RenderOptions& options) const {
  // As transformers passes them: no tools and no documents are None, not undefined.
  Dict all{{"tools", Value()}, {"documents", Value()}};
  if (special_tokens_.is_dict()) {
    for (const auto& [name, token] : special_tokens_.dict().entries()) all.set(name, token);
  }
  for (const auto& [name, value] : context.entries()) all.set(name, value);
  all.set("add_generation_prompt", add_generation_prompt);
  return template_.render(Value(std::move(all)), options);
}

}  // namespace pippin
