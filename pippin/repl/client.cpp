#include "pippin/repl/client.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/hub/url.h"
#include "pippin/repl/event_reader.h"

namespace pippin::repl {
namespace {

constexpr std::string_view kName = "the server";

// Returns the message of {"error": {"message": ...}} or {"error": "..."}, or a fallback.
std::string error_message(int status, const std::string& body) {
  try {
    const Json parsed = Json::parse(body, std::string(kName));
    if (const auto error = parsed.find("error")) {
      return error->is_string() ? std::string(error->as_string()) : error->get_string("message");
    }
  } catch (const Error&) {  // a proxy's page, for example
  }
  return fmt::format("the server answers {}", status);
}

[[noreturn]] void refuse(int status, const std::string& body) {
  const ErrorCode code = status == 404                   ? ErrorCode::NotFound
                         : status >= 400 && status < 500 ? ErrorCode::InvalidArgument
                                                         : ErrorCode::Network;
  fail(code, "{}", error_message(status, body));
}

void take_choice(const Json& choice, AnswerPart& part, AnswerEnd& end) {
  if (const auto finish = choice.find_string("finish_reason")) end.finish = *finish;
  part.content = choice.get_string_or("text", "");  // for /v1/completions
  const auto delta = choice.find("delta");
  if (!delta) return;
  part.content = delta->get_string_or("content", "");
  part.reasoning = delta->get_string_or("reasoning_content", delta->get_string_or("reasoning", ""));
}

// Other servers may send several calls at once.
void take_calls(const Json& choice, const std::function<void(const AnswerPart&)>& on_part) {
  const auto delta = choice.find("delta");
  const auto calls = delta ? delta->find("tool_calls") : std::nullopt;
  if (!calls) return;
  for (const Json& one : calls->elements()) {
    AnswerPart part;
    part.call.emplace();
    part.call->id = one.get_string_or("id", "");
    if (const auto function = one.find("function")) {
      part.call->name = function->get_string_or("name", "");
      part.call->arguments = function->get_string_or("arguments", "");
    }
    on_part(part);
  }
}

void take_usage(const Json& event, AnswerEnd& end) {
  if (const auto usage = event.find("usage")) {
    end.prompt_tokens = usage->get_int_or("prompt_tokens", 0);
    end.generated_tokens = usage->get_int_or("completion_tokens", 0);
    if (const auto details = usage->find("prompt_tokens_details")) {
      end.cached_tokens = details->get_int_or("cached_tokens", 0);
    }
  }
  if (const auto timings = event.find("timings")) {
    end.prompt_seconds = timings->get_float_or("prompt_ms", 0) / 1000;
    end.tokens_per_second = timings->get_float_or("predicted_per_second", 0);
  }
}

void take_event(const Json& event, const std::function<void(const AnswerPart&)>& on_part,
                AnswerEnd& end) {
  if (event.has("error")) refuse(500, event.dump());
  take_usage(event, end);
  AnswerPart part;
  if (const auto progress = event.find("prompt_progress")) {
    part.total = progress->get_int_or("total", 0);
    part.done = progress->get_int_or("processed", 0);
  }
  const auto choices = event.find("choices");
  if (choices && choices->size() > 0) {
    take_choice(choices->at(size_t{0}), part, end);
  }
  if (!part.content.empty() || !part.reasoning.empty() || part.total > 0) on_part(part);
  if (choices && choices->size() > 0) take_calls(choices->at(size_t{0}), on_part);
}

}  // namespace

// Whether a list of texts contains one; other values, which some servers send, do not.
bool has_name(const Json& list, std::string_view name) {
  if (!list.is_array()) return false;
  const auto elements = list.elements();
  return std::any_of(elements.begin(), elements.end(),
                     [&](const Json& one) { return one.is_string() && one.as_string() == name; });
}

std::vector<ModelInfo> Client::models() {
  const Reply reply = transport_->call("/v1/models", "");
  if (reply.status != 200) refuse(reply.status, reply.body);
  constexpr std::array<std::string_view, 2> kTellProgress = {"pippin", "llamacpp"};
  std::vector<ModelInfo> models;
  for (const Json& one : Json::parse(reply.body, std::string(kName)).at("data").elements()) {
    ModelInfo info;
    info.name = one.get_string("id");
    info.context = one.get_int_or("context_length", one.get_int_or("max_model_len", 0));
    info.vocab_size = one.get_int_or("vocab_size", 0);
    info.has_chat_template = one.get_bool_or("has_chat_template", true);
    if (const auto capabilities = one.find("capabilities"); capabilities) {
      info.takes_images = has_name(*capabilities, "vision");
    }
    const std::string owner = one.get_string_or("owned_by", "");
    info.tells_progress =
        std::find(kTellProgress.begin(), kTellProgress.end(), owner) != kTellProgress.end();
    models.push_back(std::move(info));
  }
  return models;
}

Json Client::properties(const std::string& model) {
  const Reply reply = transport_->call("/props?model=" + hub::quote_url(model, ""), "");
  return Json::parse(reply.status == 200 ? reply.body : "null", std::string(kName));
}

AnswerEnd Client::answer(const ModelInfo& model, const Dialogue& dialogue, bool continues,
                         const std::function<void(const AnswerPart& part)>& on_part,
                         const std::atomic<bool>& stop) {
  JsonWriter json;
  json.begin_object().member("model", model.name).member("stream", true);
  json.key("stream_options").begin_object().member("include_usage", true).end_object();
  if (model.tells_progress) json.member("return_progress", true);
  if (model.has_chat_template) {
    dialogue.write_request(json, continues);
  } else {
    json.member("prompt", dialogue.plain_text());
    dialogue.write_settings(json);
    // Without a token that ends it, a text would fill the context.
    const auto most = dialogue.parameters.find("max_completion_tokens");
    json.key("max_tokens").raw(most == dialogue.parameters.end() ? "256" : most->second);
  }
  json.end_object();

  EventReader events;
  AnswerEnd end;
  bool has_ended = false;
  const Reply reply = transport_->call(
      model.has_chat_template ? "/v1/chat/completions" : "/v1/completions", json.text(),
      [&](std::string_view bytes) {
        events.feed(bytes);
        while (const auto data = events.next()) {
          if (stop) return false;
          has_ended |= *data == "[DONE]";
          if (has_ended) continue;
          take_event(Json::parse(*data, std::string(kName)), on_part, end);
        }
        return !stop;
      },
      &stop);
  if (stop) {
    end.finish.clear();
    return end;
  }
  if (reply.status != 200) refuse(reply.status, reply.body);
  if (!has_ended) fail(ErrorCode::Network, "the server broke the answer off");
  return end;
}

}  // namespace pippin::repl
