#include "pippin/server/endpoints.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/server/adapters.h"
#include "pippin/server/answer_json.h"
#include "pippin/server/answer_writers.h"
#include "pippin/server/chat_messages.h"
#include "pippin/server/fill_in.h"
#include "pippin/server/keep_alive.h"
#include "pippin/server/prompt.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

OnJobEnd noting(const std::shared_ptr<LoggedReply>& reply) {
  return [reply](const Usage& usage, const ApiError*) { reply->note_usage(usage); };
}

// Determines whether and where the answer has thoughts.
void read_reasoning_format(const RequestFields& fields, TextJobOptions& job) {
  const std::string format = find_string(fields, "reasoning_format").value_or("auto");
  constexpr std::array kSplit = {"auto", "deepseek", "deepseek-legacy", "parsed"};
  const bool is_whole = format == "none" || format == "raw";
  if (!is_whole && format != "hidden" &&
      std::find(kSplit.begin(), kSplit.end(), format) == kSplit.end()) {
    throw ApiError(400, "reasoning_format: \"" + format + "\" is not auto, none or hidden",
                   "reasoning_format");
  }
  job.splits_reasoning = !is_whole && find_bool(fields, "separate_reasoning").value_or(true);
  job.hides_thoughts = format == "hidden" || !find_bool(fields, "include_reasoning").value_or(true);
  if (const auto reasoning = fields.find("reasoning"); reasoning && reasoning->is_object()) {
    job.hides_thoughts |= find_bool(*reasoning, "exclude").value_or(false);
  }
}

void read_logprobs(const RequestFields& fields, TextRequest& request) {
  const int64_t likely = find_int(fields, "n_probs", 0, kMaxTopLogprobs).value_or(0);
  if (find_bool(fields, "logprobs").value_or(false)) {
    request.top_logprobs = find_int(fields, "top_logprobs", 0, kMaxTopLogprobs).value_or(likely);
  } else if (likely > 0) {
    request.top_logprobs = likely;
  } else if (find_int(fields, "top_logprobs").value_or(0) > 0) {
    throw ApiError(400, "top_logprobs: needs logprobs", "top_logprobs");
  }
}

void refuse_streams(const TextRequest& request, const std::string& field) {
  if (!request.streams) return;
  throw ApiError(400, field + ": the prompt's logprobs come whole, not in a stream", field);
}

AnswerOptions answer_options(const TextJobOptions& job, const std::string& id,
                             const ServedModel& model, std::chrono::milliseconds silence) {
  AnswerOptions options;
  options.id = id;
  options.model = answering_name(*model.loaded.model, model.name, job.request.model);
  options.created = now();
  options.choices = job.prompts.size() * static_cast<size_t>(job.request.choices);
  options.streams = job.request.streams;
  options.with_usage = job.request.with_usage;
  options.with_logprobs = job.request.top_logprobs >= 0;
  options.prompt_choices = static_cast<size_t>(job.request.choices);
  options.top_logprobs = static_cast<size_t>(std::max<int64_t>(job.request.top_logprobs, 0));
  if (job.request.prompt_logprobs >= 0) {
    options.prompt_logprobs = static_cast<size_t>(job.request.prompt_logprobs);
  }
  for (const auto& prompt : job.prompts) options.prompt_tokens += std::ssize(prompt);
  options.silence = silence;
  return options;
}

// If the last message is the assistant's, the answer continues it.
bool begins_answer(const chat::Value& messages) {
  const chat::Dict& last = messages.list().items.back().dict();
  return last.find("role")->string() == "assistant" && last.find("tool_calls") == nullptr;
}

// Returns the capabilities of a loaded model, in ollama's terms where they exist.
std::vector<std::string> capabilities_of(const ModelStatus& status) {
  if (status.encoder == nullptr && status.images != nullptr) {
    return {status.images->classifies() ? "classification" : "embedding"};
  }
  if (status.encoder != nullptr) return {status.encoder->scores() ? "rerank" : "embedding"};
  if (status.speech != nullptr) return {"transcription"};
  std::vector<std::string> names = {"completion"};
  if (status.model->takes_tools && status.model->calls != nullptr) names.emplace_back("tools");
  if (can_fill_in(*status.model)) names.emplace_back("insert");
  if (status.model->reasoning != nullptr) names.emplace_back("thinking");
  if (status.model->loaded.images != nullptr) names.emplace_back("vision");
  return names;
}

void write_model(JsonWriter& json, const ModelStatus& status, const std::string& name) {
  json.begin_object().member("id", name).member("object", "model");
  json.member("created", status.created).member("owned_by", "pippin");
  if (!status.base.empty()) json.member("parent", status.base);
  constexpr const char* kStates[] = {"absent", "loading", "ready", "failed"};
  json.member("state", kStates[static_cast<size_t>(status.state)]);
  constexpr const char* kRouterStates[] = {"unloaded", "loading", "loaded", "failed"};
  json.key("status").begin_object();
  json.member("value", kRouterStates[static_cast<size_t>(status.state)]).end_object();
  if (!status.error.empty()) json.member("error", status.error);
  if (status.is_loaded()) {
    json.member("capabilities", capabilities_of(status));
  }
  if (status.model != nullptr) {
    const auto& loaded = status.model->loaded;
    json.member("context_length", loaded.model->context());
    json.member("max_model_len", loaded.model->context());
    json.member("vocab_size", loaded.model->vocab_size());
    json.member("has_chat_template", loaded.chat_template.has_value());
    json.key("meta").begin_object().member("n_ctx", loaded.model->context());
    json.member("n_ctx_train", app::own_context(loaded));
    json.member("n_vocab", loaded.model->vocab_size()).end_object();
  }
  json.end_object();
}

}  // namespace

void note_ignored(LoggedReply& reply, const RequestFields& fields, const TextJobOptions& job,
                  const std::vector<std::string>& unheeded) {
  std::vector<std::string> names = fields.ignored();
  names.insert(names.end(), job.request.unheeded.begin(), job.request.unheeded.end());
  names.insert(names.end(), unheeded.begin(), unheeded.end());
  names.insert(names.end(), job.tools.skipped.begin(), job.tools.skipped.end());
  reply.note_ignored(names);
}

std::shared_ptr<ServedModel> Endpoints::open(const std::string& name, const Replying& reply) {
  auto model = models_.get(name);
  reply->note_model(model->name);
  return model;
}

OpenedModel Endpoints::open_any(const RequestFields& fields, const Replying& reply) {
  const auto keep_alive = read_keep_alive(fields);
  OpenedModel opened = models_.open(find_string(fields, "model").value_or(""));
  reply->note_model(opened.name);
  if (keep_alive) models_.keep(opened.name, *keep_alive);
  return opened;
}

std::shared_ptr<ServedModel> Endpoints::open(const RequestFields& fields, const Replying& reply) {
  const auto keep_alive = read_keep_alive(fields);
  auto model = open(find_string(fields, "model").value_or(""), reply);
  if (keep_alive) models_.keep(model->name, *keep_alive);
  return model;
}

RequestFields Endpoints::read_fields(const Json& body, FieldsOf endpoint) const {
  return with_defaults({body, endpoint}, endpoint);
}

RequestFields Endpoints::with_defaults(RequestFields fields, FieldsOf endpoint) const {
  const auto settings = models_.settings(find_string(fields, "model").value_or(""));
  if (settings != nullptr) fields.add_defaults(settings->fields, endpoint);
  return fields;
}

void Endpoints::chat(const http::Request& request, const Replying& reply) {
  const RequestFields fields = read_fields(parse_body(request.body), kChat);
  TextJobOptions job;
  job.is_chat = true;
  job.in_background = reply->in_background();
  job.prompt_field = "messages";
  job.request = read_text_request(fields);
  read_logprobs(fields, job.request);
  read_reasoning_format(fields, job);
  if (job.request.prompt_logprobs >= 0) refuse_streams(job.request, "prompt_logprobs");
  job.tools = read_tool_request(fields);
  const ChatInput input = openai_messages(fields);
  const auto model = open(fields, reply);
  RenderedChat prompt = render_chat(*model, input, fields, job.tools, false);
  truncate_prompt(*model, prompt, job.request.prompt_tokens, job.request.max_tokens);
  take_prompt(prompt, job);
  note_ignored(*reply, fields, job, prompt.unheeded);
  auto writer = make_chat_writer(reply, answer_options(job, reply->id(), *model, silence_));
  start_text_job(model, std::move(job), forms_, reply, std::move(writer), noting(reply));
}

void Endpoints::completions(const http::Request& request, const Replying& reply) {
  const RequestFields fields = read_fields(parse_body(request.body), kCompletions);
  constexpr int64_t kMaxTokens = 16;  // OpenAI's
  TextJobOptions job;
  job.in_background = reply->in_background();
  job.request = read_text_request(fields);
  if (!fields.has("max_tokens")) job.request.max_tokens = kMaxTokens;
  job.request.top_logprobs = find_int(fields, "logprobs", 0, kMaxTopLogprobs).value_or(-1);
  // n_probs 0 turns logprobs off; logprobs 0 returns those of the chosen tokens only.
  if (fields.spelling("logprobs") == "n_probs" && job.request.top_logprobs == 0) {
    job.request.top_logprobs = -1;
  }
  const bool echoes = find_bool(fields, "echo").value_or(false);
  const int64_t prompt_logprobs = job.request.prompt_logprobs;
  if (prompt_logprobs >= 0) refuse_streams(job.request, "prompt_logprobs");
  if (echoes && job.request.top_logprobs >= 0) {
    refuse_streams(job.request, "echo");
    job.request.prompt_logprobs = std::max(prompt_logprobs, job.request.top_logprobs);
  }
  const auto model = open(fields, reply);
  std::vector<std::string> texts;
  job.prompts = read_prompts(*model, fields, texts);
  for (size_t i = 0; i < job.prompts.size(); ++i) {
    const size_t before = job.prompts[i].size();
    truncate_prompt(*model, job.prompts[i], job.request.prompt_tokens, job.request.max_tokens);
    if (job.prompts[i].size() < before) texts[i] = model->loaded.tokenizer.decode(job.prompts[i]);
  }
  // After the middle, a code model continues with another file.
  if (!find_string(fields, "suffix").value_or("").empty()) {
    for (const int32_t id : fill_end_ids(*model)) {
      job.request.stop_tokens.push_back(id);
    }
  }
  note_ignored(*reply, fields, job);
  AnswerOptions answer = answer_options(job, reply->id(), *model, silence_);
  answer.echoes_logprobs = echoes && answer.with_logprobs;
  answer.prompt_logprobs =
      prompt_logprobs < 0 ? std::nullopt : std::optional(static_cast<size_t>(prompt_logprobs));
  for (size_t i = 0; echoes && i < answer.choices; ++i) {
    answer.echoes.push_back(texts[i / answer.prompt_choices]);
  }
  auto writer = make_completion_writer(reply, std::move(answer));
  start_text_job(model, std::move(job), forms_, reply, std::move(writer), noting(reply));
}

void Endpoints::messages(const http::Request& request, const Replying& reply) {
  const RequestFields body = read_fields(parse_body(request.body), kMessages);
  TextJobOptions job;
  job.is_chat = true;
  job.prompt_field = "messages";
  job.request.model = find_string(body, "model").value_or("");
  read_sampling(body, job.request.sampling, &job.request.unheeded);
  const auto max_tokens = find_int(body, "max_tokens", 1);
  if (!max_tokens) throw ApiError(400, "max_tokens: is missing", "max_tokens");
  job.request.max_tokens = *max_tokens;
  job.request.stop = find_strings(body, "stop", kMaxStops);
  if (std::find(job.request.stop.begin(), job.request.stop.end(), "") != job.request.stop.end()) {
    throw ApiError(400, "stop_sequences: a text is empty", "stop_sequences");
  }
  job.request.thinking_budget = read_thinking_budget(body);
  job.request.streams = find_bool(body, "stream").value_or(false);
  job.dialect = Dialect::Anthropic;
  job.tools = read_anthropic_tool_request(body);
  job.request.form = read_anthropic_form(body);
  job.splits_reasoning = true;
  const ChatInput input = anthropic_messages(body);
  const auto model = open(body, reply);
  RenderedChat prompt = render_chat(*model, input, body, job.tools, begins_answer(input.messages));
  take_prompt(prompt, job);
  note_ignored(*reply, body, job, prompt.unheeded);
  auto writer = make_message_writer(reply, answer_options(job, reply->id(), *model, silence_));
  start_text_job(model, std::move(job), forms_, reply, std::move(writer), noting(reply));
}

void Endpoints::count_tokens(const http::Request& request, const Replying& reply) {
  const RequestFields body = read_fields(parse_body(request.body), kMessages);
  const ChatInput input = anthropic_messages(body);
  TextJobOptions job;
  job.tools = read_anthropic_tool_request(body);
  const auto model = open(body, reply);
  const RenderedChat prompt =
      render_chat(*model, input, body, job.tools, begins_answer(input.messages));
  note_ignored(*reply, body, job, prompt.unheeded);
  JsonWriter json;
  json.begin_object().member("input_tokens", prompt.ids.size()).end_object();
  reply->send({.body = json.text()});
}

// Tokenizes a text, or the prompt of a conversation.
void Endpoints::tokenize(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  const bool is_chat = body.has("messages");
  const auto text = find_string(body, "content");
  const auto other = text ? text : find_string(body, "prompt");
  if (!other && !is_chat) throw ApiError(400, "content: is missing", "content");
  if (!find_bool(body, "parse_special").value_or(true)) {
    throw ApiError(400, "parse_special: special tokens in texts are always read", "parse_special");
  }
  const auto model = open(find_string(body, "model").value_or(""), reply);
  const Tokenizer& tokenizer = model->loaded.tokenizer;
  // vLLM's field adds special tokens by default, llama.cpp's does not.
  const bool adds = find_bool(body, text ? "add_special" : "add_special_tokens").value_or(!text);
  const std::vector<int32_t> ids =
      is_chat ? render_chat(*model, openai_messages(body), body, read_tool_request(body), false).ids
              : tokenizer.encode(*other, adds);
  JsonWriter json;
  json.begin_object().key("tokens");
  if (find_bool(body, "with_pieces").value_or(false)) {
    json.begin_array();
    for (const int32_t id : ids) {
      const std::string piece = tokenizer.token_bytes(id);
      json.begin_object().member("id", id).key("piece");
      // A part of a character is written as bytes.
      is_valid_utf8(piece) ? (void)json.value(piece) : write_bytes(json, piece);
      json.end_object();
    }
    json.end_array();
  } else {
    json.value(ids);
  }
  json.member("count", ids.size()).member("max_model_len", model->loaded.model->context());
  reply->send({.body = json.end_object().text()});
}

void Endpoints::detokenize(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  const auto tokens = body.find("tokens");
  if (!tokens) throw ApiError(400, "tokens: is missing", "tokens");
  const auto model = open(find_string(body, "model").value_or(""), reply);
  const std::string text =
      model->loaded.tokenizer.decode(read_ids(*model, *tokens, "tokens"), false);
  JsonWriter json;
  json.begin_object().member("content", text).member("prompt", text).end_object();
  reply->send({.body = json.text()});
}

void Endpoints::apply_template(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  const ChatInput input = openai_messages(body);
  const ToolRequest tools = read_tool_request(body);
  const auto model = open(find_string(body, "model").value_or(""), reply);
  const RenderedChat prompt = render_chat(*model, input, body, tools, false);
  JsonWriter json;
  json.begin_object().member("prompt", prompt.text).end_object();
  reply->send({.body = json.text()});
}

void Endpoints::props(const http::Request& request, const Replying& reply) {
  const auto model = open(std::string(http::find_field(request.query, "model")), reply);
  const runtime::LoadedModel& loaded = model->loaded;
  const runtime::SamplingOptions& sampling = loaded.config.sampling;
  const auto token_text = [&](std::optional<int32_t> id) {
    return id ? loaded.tokenizer.id_to_token(*id).value_or("") : std::string();
  };
  const std::vector<int32_t> begin = loaded.tokenizer.encode("");
  JsonWriter json;
  json.begin_object().member("model", model->name).member("model_alias", model->name);
  json.key("default_generation_settings").begin_object();
  json.member("n_ctx", loaded.model->context());
  json.key("params").begin_object();
  json.member("temperature", sampling.temperature).member("top_k", sampling.top_k);
  json.member("top_p", sampling.top_p).member("min_p", sampling.min_p);
  json.member("repeat_penalty", sampling.repetition_penalty).end_object().end_object();
  json.member("total_slots", model->scheduler->max_running());
  json.member("chat_template", model->template_source);
  json.member("bos_token", begin.size() == 1 ? token_text(begin.front()) : "");
  json.member("eos_token", model->end_ids.empty() ? "" : token_text(model->end_ids.front()));
  json.member("reasoning", model->reasoning != nullptr);
  json.member("thinking_switch", !model->thinking_switch.empty());
  json.member("tools", model->takes_tools && model->calls != nullptr);
  json.member("vocab_size", loaded.model->vocab_size());
  json.member("end_tokens", model->chat_end_ids);
  json.member("load_seconds", model->load_seconds);
  json.key("modalities")
      .begin_object()
      .member("vision", loaded.images != nullptr)
      .member("audio", false)
      .end_object();
  json.member("build_info", "pippin");
  reply->send({.body = json.end_object().text()});
}

void Endpoints::list_adapters(const http::Request& request, const Replying& reply) {
  const auto model = open(std::string(http::find_field(request.query, "model")), reply);
  reply->send({.body = adapter_list(*model->loaded.model, model->adapters)});
}

void Endpoints::set_adapters(const http::Request& request, const Replying& reply) {
  const auto model = open(std::string(http::find_field(request.query, "model")), reply);
  model->adapters.set(read_adapter_scales(*model->loaded.model, request.body));
  reply->send({.body = R"({"success":true})"});
}

// Waits until the model is loaded.
void Endpoints::load(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  const auto name = find_string(body, "model");
  if (!name) throw ApiError(400, "model: is missing", "model");
  reply->note_model(models_.open(*name).name);
  reply->send({.body = R"({"success":true})"});
}

void Endpoints::unload(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  const auto name = find_string(body, "model");
  if (!name) throw ApiError(400, "model: is missing", "model");
  models_.unload(*name);
  reply->send({.body = R"({"success":true})"});
}

http::Response Endpoints::models() const {
  JsonWriter json;
  json.begin_object().member("object", "list").key("data").begin_array();
  for (const ModelStatus& status : models_.all()) {
    write_model(json, status, status.name);
    for (const std::string& alias : status.aliases) write_model(json, status, alias);
  }
  return {.body = json.end_array().end_object().text()};
}

http::Response Endpoints::model(const std::string& name) const {
  JsonWriter json;
  write_model(json, models_.status(name), name);
  return {.body = json.text()};
}

}  // namespace pippin::server
