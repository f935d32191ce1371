#include "pippin/server/prompt.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "pippin/app/image_prompt.h"
#include "pippin/base/error.h"
#include "pippin/chat/json.h"
#include "pippin/model_output/read_syntax.h"
#include "pippin/model_output/told_calls.h"
#include "pippin/server/api_error.h"
#include "pippin/server/chat_messages.h"
#include "pippin/server/fill_in.h"
#include "pippin/server/message_fields.h"
#include "pippin/server/request_json.h"
#include "pippin/server/system_turns.h"
#include "pippin/server/thinking.h"

namespace pippin::server {
namespace {

using chat::Dict;
using chat::Value;

constexpr size_t kMaxPrompts = 2048;

const ChatTemplate& template_of(const ServedModel& model) {
  if (model.loaded.template_error) throw ApiError(400, model.loaded.template_error->what());
  if (!model.loaded.chat_template) {
    throw ApiError(400, "the model has no chat template: /v1/completions goes without", "model");
  }
  return *model.loaded.chat_template;
}

// Whether a message is the result of a failed call (chat_messages.h).
bool has_failed_call(const Value& messages) {
  const auto& list = messages.list().items;
  return std::any_of(list.begin(), list.end(), [](const Value& message) {
    return message.is_dict() && message.dict().find("is_error") != nullptr;
  });
}

struct Context {
  Dict values;
  Efforts efforts;  // the first one that the template accepts counts; none: as in `values`
};

Context context_of(const ServedModel& model, const Value& messages, const RequestFields& body,
                   std::vector<std::string>& unheeded) {
  Dict context;
  for (const char* name : {"documents", "add_generation_prompt"}) {
    if (const auto value = body.find(name)) {
      context.set(name, chat::parse_json(value->dump(), "request"));
    }
  }
  Efforts efforts = set_thinking(model, body, context, unheeded);
  if (has_failed_call(messages) && model.template_source.find("is_error") == std::string::npos) {
    unheeded.emplace_back("tool_result.is_error");
  }
  if (const auto more = body.find("chat_template_kwargs")) {
    if (!more->is_object()) {
      throw ApiError(400, "chat_template_kwargs: expected an object", "chat_template_kwargs");
    }
    for (const auto& [key, value] : more->members()) {
      context.set(own_variable(model, std::string(key)), chat::parse_json(value.dump(), "request"));
      if (key == "reasoning_effort") efforts.clear();
    }
  }
  return {std::move(context), std::move(efforts)};
}

// Renders with the first of the efforts that the template accepts, and keeps only that one.
std::string render_by(const ChatTemplate& chat, Context& context, const Value& messages,
                      PromptEnd end) {
  context.values.set("messages", messages);
  if (context.efforts.empty()) return chat.render(context.values, end);
  for (const auto& effort : context.efforts) {
    Dict values = context.values;
    if (effort) values.set("reasoning_effort", *effort);
    try {
      std::string text = chat.render(values, end);
      context.efforts = {effort};
      return text;
    } catch (const Error&) {
      if (&effort == &context.efforts.back()) throw;
    }
  }
  return {};
}

// Encodes the text, with the images at its placeholders.
void read_images(const ServedModel& model, const MessageImages& images,
                 const std::vector<size_t>& order, bool adds_special, RenderedChat& result) {
  const std::vector<std::string> bytes = images.bytes_of(order, model.allows_remote_images);
  std::vector<runtime::ImageFile> files;
  files.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const MessageImages::Image& image = images.images()[order[i]];
    std::vector<ByteSpan> frames;
    frames.reserve(image.frames.size());
    for (const std::string& frame : image.frames) frames.push_back(as_byte_span(frame));
    files.push_back({as_byte_span(bytes[i]), image.place, image.is_video, std::move(frames)});
  }
  try {
    runtime::VisionPrompt prompt =
        model.loaded.images->read(model.loaded.tokenizer, result.text, adds_special, files);
    result.ids = std::move(prompt.ids);
    result.rows = std::move(prompt.rows);
  } catch (const Error& error) {
    // The file is the client's.
    const bool is_invalid = error.code() == ErrorCode::InvalidFile;
    throw ApiError(is_invalid ? 400 : api_error(error).status, error.what(),
                   images.images()[order.front()].place);
  }
}

void set_tools(const ServedModel& model, const std::vector<model_output::Tool>& tools,
               Dict& context) {
  if (!model.takes_tools) {
    throw ApiError(400, "tools: the model's chat template takes none", "tools");
  }
  if (model.calls == nullptr) {
    throw ApiError(400, "tools: the model's chat template does not tell how it calls them",
                   "tools");
  }
  model_output::add_tools(*model.loaded.chat_template,
                          chat::parse_json(model_output::tools_json(tools), "tools"), context);
}

// Visits a string, a list of tokens, or each element of a list of these.
void each_text(const RequestFields& body, std::string_view param,
               const std::function<void(const Json& text)>& take) {
  const std::string name(param);
  const auto value = body.find(param);
  if (!value) throw ApiError(400, name + ": is missing", name);
  if (value->is_string()) return take(*value);
  if (!value->is_array() || value->size() == 0) {
    throw ApiError(400, name + ": expected a text, tokens, or a list of them", name);
  }
  if (value->at(size_t{0}).is_integer()) return take(*value);
  if (value->size() > kMaxPrompts) {
    throw ApiError(
        400,
        fmt::format("{}: has {} texts, at most {} are taken", name, value->size(), kMaxPrompts),
        name);
  }
  for (const Json& one : value->elements()) take(one);
}

void refuse_empty(const std::vector<std::vector<int32_t>>& prompts, std::string_view param) {
  for (const auto& ids : prompts) {
    if (ids.empty())
      throw ApiError(400, std::string(param) + ": has no tokens", std::string(param));
  }
}

}  // namespace

RenderedChat render_chat(const ServedModel& model, const ChatInput& input,
                         const RequestFields& body, const ToolRequest& tools, bool continues_last,
                         std::string_view param) {
  if (!input.images.empty() && model.loaded.images == nullptr) {
    const MessageImages::Image& first = input.images.images().front();
    if (model.loaded.images_error) refuse_at(first.place, model.loaded.images_error->what());
    refuse_at(first.place, fmt::format("the model takes text only, not {}", first.type));
  }
  const ChatTemplate& chat = template_of(model);
  const bool generates = find_bool(body, "add_generation_prompt").value_or(true);
  const bool continues = find_bool(body, "continue_final_message").value_or(continues_last);
  const PromptEnd end = continues   ? PromptEnd::Continuation
                        : generates ? PromptEnd::Generation
                                    : PromptEnd::Conversation;
  const bool knows_developer = model.template_source.find("developer") != std::string::npos;
  Value spoken = knows_developer ? input.messages : without_developer(input.messages);
  if (model.calls != nullptr) spoken = model_output::told_calls(*model.calls, spoken);
  RenderedChat result;
  Context context = context_of(model, spoken, body, result.unheeded);
  if (tools.offered != nullptr) set_tools(model, *tools.offered, context.values);
  spoken = place_systems(spoken, [&](const Value& some) {
    return render_by(chat, context, some,
                     generates ? PromptEnd::Generation : PromptEnd::Conversation);
  });
  std::vector<size_t> images;  // in the order of the text
  try {
    for (const MessageImages::Image& image : input.images.images()) {
      if (image.is_video) model.loaded.images->check_videos(image.place);
    }
    result.text = input.images.empty()
                      ? render_by(chat, context, spoken, end)
                      : app::render_with_images(
                            *model.loaded.images, input.images.marks(), spoken, images,
                            [&](const Value& some) { return render_by(chat, context, some, end); });
  } catch (const Error& error) {
    throw ApiError(400, error.what(), std::string(param));
  }
  if (!context.efforts.empty() && !context.efforts.front())
    result.unheeded.emplace_back(kEffortHint);
  // The template itself writes the special tokens.
  const bool adds = find_bool(body, "add_special_tokens").value_or(false);
  if (images.empty()) {
    result.ids = model.loaded.tokenizer.encode(result.text, adds);
  } else {
    read_images(model, input.images, images, adds, result);
  }
  if (result.ids.empty()) {
    throw ApiError(400, fmt::format("{}: the prompt has no tokens", param), std::string(param));
  }
  result.is_thinking =
      model.reasoning != nullptr && model_output::begins_thinking(*model.reasoning, result.text);
  return result;
}

void take_prompt(RenderedChat& prompt, TextJobOptions& job) {
  job.is_thinking = prompt.is_thinking;
  job.prompt_end = std::move(prompt.text);
  job.prompts.push_back(std::move(prompt.ids));
  job.rows = std::move(prompt.rows);
}

std::vector<int32_t> read_ids(const ServedModel& model, const Json& list, std::string_view param) {
  return read_field(param, [&] {
    std::vector<int32_t> ids;
    const int64_t last = model.loaded.model->num_ids() - 1;
    if (!list.is_array()) list.invalid("expected a list of tokens");
    for (const Json& id : list.elements()) ids.push_back(static_cast<int32_t>(id.as_int(0, last)));
    return ids;
  });
}

std::vector<std::vector<int32_t>> read_prompts(const ServedModel& model, const RequestFields& body,
                                               std::vector<std::string>& echoes) {
  const std::string suffix = find_string(body, "suffix").value_or("");
  const Tokenizer& tokenizer = model.loaded.tokenizer;
  const bool adds = find_bool(body, "add_special_tokens").value_or(true);
  std::vector<std::vector<int32_t>> prompts;
  each_text(body, "prompt", [&](const Json& text) {
    if (text.is_array()) {
      if (!suffix.empty()) throw ApiError(400, "suffix: needs a prompt that is a text", "suffix");
      prompts.push_back(read_ids(model, text, "prompt"));
      echoes.push_back(tokenizer.decode(prompts.back()));
      return;
    }
    echoes.emplace_back(read_field("prompt", [&] { return text.as_string(); }));
    prompts.push_back(suffix.empty() ? tokenizer.encode(echoes.back(), adds)
                                     : fill_in(model, {echoes.back(), suffix}, 0, "suffix"));
  });
  refuse_empty(prompts, "prompt");
  return prompts;
}

TextInputs read_inputs(const RequestFields& body, std::string_view param) {
  TextInputs inputs;
  each_text(body, param, [&](const Json& text) {
    read_field(param, [&] {
      if (text.is_string()) {
        inputs.texts.emplace_back(text.as_string());
        return;
      }
      std::vector<int32_t>& ids = inputs.ids.emplace_back();
      for (const Json& id : text.elements()) {
        ids.push_back(static_cast<int32_t>(id.as_int(0, INT32_MAX)));
      }
    });
  });
  if (!inputs.texts.empty() && !inputs.ids.empty()) {
    throw ApiError(400, std::string(param) + ": texts and tokens in one list", std::string(param));
  }
  return inputs;
}

std::vector<std::vector<int32_t>> read_texts(const ServedModel& model, const RequestFields& body,
                                             std::string_view param) {
  std::vector<std::vector<int32_t>> texts;
  each_text(body, param, [&](const Json& text) {
    texts.push_back(text.is_array() ? read_ids(model, text, param)
                                    : model.loaded.tokenizer.encode(
                                          read_field(param, [&] { return text.as_string(); })));
  });
  refuse_empty(texts, param);
  return texts;
}

void truncate_prompt(const ServedModel& model, std::vector<int32_t>& ids, int64_t count,
                     int64_t max_tokens) {
  if (count == 0) return;
  if (count < 0) {
    count = model.scheduler->max_prompt() - std::max<int64_t>(max_tokens, 1);
  }
  const int64_t kept = std::clamp<int64_t>(count, 1, std::ssize(ids));
  ids.erase(ids.begin(), ids.end() - kept);
}

void truncate_prompt(const ServedModel& model, RenderedChat& prompt, int64_t count,
                     int64_t max_tokens) {
  if (count != 0 && !prompt.rows.empty()) {
    throw ApiError(400, "truncate_prompt_tokens: the prompt has images, which cannot be cut",
                   "truncate_prompt_tokens");
  }
  truncate_prompt(model, prompt.ids, count, max_tokens);
}

void check_prompt(const ServedModel& model, std::span<const int32_t> ids, std::string_view param,
                  Dialect dialect) {
  const int64_t context = model.loaded.model->context(), most = model.scheduler->max_prompt();
  if (std::ssize(ids) <= most) return;
  if (dialect == Dialect::Anthropic) {
    throw ApiError(400, fmt::format("prompt is too long: {} tokens > {} maximum", ids.size(), most),
                   std::string(param), "context_length_exceeded");
  }
  std::string place = fmt::format("the model's context holds {}", context);
  if (std::ssize(ids) <= context) {
    place = fmt::format("the memory for caches holds {} (--cache-tokens)", most);
  } else if (const int64_t own = app::own_context(model.loaded); own > context) {
    place += fmt::format(" here, of {} (--context)", own);
  }
  throw ApiError(400, fmt::format("the prompt has {} tokens, {}", ids.size(), place),
                 std::string(param), "context_length_exceeded");
}

}  // namespace pippin::server
