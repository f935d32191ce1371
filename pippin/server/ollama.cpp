// POST /api/chat and /api/generate, in ollama's form.
#include <chrono>
#include <utility>

#include "pippin/base/stopwatch.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/fill_in.h"
#include "pippin/server/keep_alive.h"
#include "pippin/server/ollama_messages.h"
#include "pippin/server/ollama_writer.h"
#include "pippin/server/prompt.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

using Clock = std::chrono::steady_clock;
using Ids = std::vector<int32_t>;

RequestFields read_ollama_fields(const http::Request& request) {
  RequestFields fields(parse_body(request.body), kOllama);
  if (const auto options = fields.find("options")) {
    if (!options->is_object()) throw ApiError(400, "options: expected an object", "options");
    fields.add(*options, kOllamaOptions, "options.");
  }
  return fields;
}

void read_ollama_logprobs(const RequestFields& fields, TextRequest& request) {
  const auto likely = find_int(fields, "top_logprobs", 0, kMaxTopLogprobs);
  if (find_bool(fields, "logprobs").value_or(false)) {
    request.top_logprobs = likely.value_or(0);
  } else if (likely.value_or(0) > 0) {
    throw ApiError(400, "top_logprobs: needs logprobs", "top_logprobs");
  }
}

TextJobOptions ollama_job(const RequestFields& fields, bool is_chat) {
  TextJobOptions job;
  job.is_chat = is_chat;
  if (is_chat) job.prompt_field = "messages";
  job.splits_reasoning = true;
  job.dialect = Dialect::Ollama;
  job.request = read_text_request(fields);
  job.request.streams = find_bool(fields, "stream").value_or(true);
  read_ollama_logprobs(fields, job.request);
  return job;
}

// Uses ollama's words, which its clients search for.
void check_abilities(const ServedModel& model, const RequestFields& fields,
                     const ToolRequest& tools) {
  if (tools.offered != nullptr && !(model.takes_tools && model.calls != nullptr)) {
    throw ApiError(400,
                   "\"" + model.name + "\" does not support tools: its chat template takes none",
                   "tools");
  }
  const auto think = fields.find("think");
  const bool wants = think && !(think->is_bool() && !think->as_bool());
  if (wants && model.reasoning == nullptr) {
    throw ApiError(400, "\"" + model.name + "\" does not support thinking", "think");
  }
}

// Whether the answer continues the last message.
bool continues_last(const chat::Value& messages) {
  const chat::Dict& last = messages.list().items.back().dict();
  const chat::Value* const content = last.find("content");
  return last.find("role")->string() == "assistant" && last.find("tool_calls") == nullptr &&
         content != nullptr && content->is_string() && !content->string().empty();
}

bool has_messages(const RequestFields& fields) {
  const auto messages = fields.find("messages");
  return messages && !(messages->is_array() && messages->size() == 0);
}

bool has_images(const RequestFields& fields) {
  const auto images = fields.find("images");
  return images && images->is_array() && images->size() > 0;
}

// Refuses fields that need a template, for a prompt without one.
void refuse_with_raw(const RequestFields& fields, const char* why) {
  for (const char* name : {"system", "context", "images"}) {
    const auto value = fields.find(name);
    if (!value || (value->is_string() && value->as_string().empty()) ||
        (value->is_array() && value->size() == 0)) {
      continue;
    }
    throw ApiError(400, std::string(name) + ": " + why, name);
  }
}

}  // namespace

struct Endpoints::OllamaRequest {
  const RequestFields fields;
  const Clock::time_point start = Clock::now();
  std::string name;
  std::shared_ptr<ServedModel> model = nullptr;
  double load_seconds = 0;

  OllamaOptions options(const TextJobOptions& job, std::chrono::milliseconds silence) const {
    return {.model = name.empty() ? model->name : name,
            .is_chat = fields.has("messages"),
            .streams = job.request.streams,
            .with_logprobs = job.request.top_logprobs >= 0,
            .start = start,
            .load_seconds = load_seconds,
            .silence = silence};
  }
};

void Endpoints::open(OllamaRequest& request, const Replying& reply) {
  const auto start = Clock::now();
  request.model = open(request.fields, reply);
  request.load_seconds = seconds_since(start);
}

// Answers a request without a text: loads or unloads the model.
void Endpoints::load(OllamaRequest& request, bool is_chat, const Replying& reply) {
  OllamaOptions options{.model = request.name, .is_chat = is_chat};
  const auto keep_alive = read_keep_alive(request.fields);
  const bool unloads = keep_alive && keep_alive->count() == 0;
  if (unloads) {
    models_.unload(request.name);
  } else {
    open(request, reply);
  }
  if (options.model.empty()) options.model = models_.status("").name;
  reply->note_ignored(request.fields.ignored());
  reply->send({.body = ollama_empty_answer(options, unloads ? "unload" : "load")});
}

void Endpoints::start(const OllamaRequest& request, TextJobOptions job, bool is_chat,
                      std::optional<Ids> context, const std::vector<std::string>& unheeded,
                      const Replying& reply) {
  note_ignored(*reply, request.fields, job, unheeded);
  OllamaOptions options = request.options(job, silence_);
  options.is_chat = is_chat;
  options.context = std::move(context);
  auto writer = make_ollama_writer(reply, std::move(options));
  start_text_job(request.model, std::move(job), forms_, reply, std::move(writer),
                 [reply](const Usage& usage, const ApiError*) { reply->note_usage(usage); });
}

void Endpoints::ollama_chat(const http::Request& http, const Replying& reply) {
  OllamaRequest request{with_defaults(read_ollama_fields(http), kOllama | kOllamaOptions)};
  const RequestFields& fields = request.fields;
  request.name = find_string(fields, "model").value_or("");
  TextJobOptions job = ollama_job(fields, true);
  if (!has_messages(fields)) return load(request, true, reply);
  job.tools = read_tool_request(fields);
  const ChatInput input = ollama_messages(fields);
  open(request, reply);
  check_abilities(*request.model, fields, job.tools);
  RenderedChat prompt =
      render_chat(*request.model, input, fields, job.tools, continues_last(input.messages));
  take_prompt(prompt, job);
  start(request, std::move(job), true, std::nullopt, prompt.unheeded, reply);
}

void Endpoints::ollama_generate(const http::Request& http, const Replying& reply) {
  OllamaRequest request{with_defaults(read_ollama_fields(http), kOllama | kOllamaOptions)};
  const RequestFields& fields = request.fields;
  request.name = find_string(fields, "model").value_or("");
  const std::string prompt = find_string(fields, "prompt").value_or("");
  const std::string suffix = find_string(fields, "suffix").value_or("");
  const bool is_raw = find_bool(fields, "raw").value_or(false);
  TextJobOptions job = ollama_job(fields, false);
  if (prompt.empty() && suffix.empty()) return load(request, false, reply);
  open(request, reply);
  const ServedModel& model = *request.model;
  const Tokenizer& tokenizer = model.loaded.tokenizer;
  std::vector<std::string> unheeded;
  std::optional<Ids> context;
  Ids ids;
  if (!suffix.empty()) {
    refuse_with_raw(fields, "does not go with a suffix");
    ids = fill_in(model, {prompt, suffix}, 0, "suffix");
    for (const int32_t id : fill_end_ids(model)) job.request.stop_tokens.push_back(id);
  } else if (is_raw) {
    refuse_with_raw(fields, "does not go with raw");
    ids = tokenizer.encode(prompt);
  } else {
    if (const auto before = fields.find("context")) ids = read_ids(model, *before, "context");
    Ids more;
    if (model.loaded.chat_template || model.loaded.template_error) {
      check_abilities(model, fields, {});
      job.is_chat = true;
      RenderedChat chat = render_chat(model, ollama_prompt(fields, prompt), fields, {}, false);
      job.is_thinking = chat.is_thinking;
      job.prompt_end = std::move(chat.text);
      job.rows = std::move(chat.rows);
      unheeded = std::move(chat.unheeded);
      more = std::move(chat.ids);
    } else {
      if (!find_string(fields, "system").value_or("").empty()) {
        throw ApiError(400, "system: the model has no chat template", "system");
      }
      if (has_images(fields)) {
        throw ApiError(400, "images: the model has no chat template", "images");
      }
      more = tokenizer.encode(prompt);
    }
    // Adds the beginning-of-text token only once.
    const Ids begin = tokenizer.encode("");
    const bool repeats = begin.size() == 1 && !ids.empty() && !more.empty() && more[0] == begin[0];
    ids.insert(ids.end(), more.begin() + (repeats ? 1 : 0), more.end());
    // Rows of images cannot be sent back.
    if (job.rows.empty()) {
      context = ids;
      job.tells_tokens = true;
    }
  }
  job.prompts.push_back(std::move(ids));
  start(request, std::move(job), false, std::move(context), unheeded, reply);
}

}  // namespace pippin::server
