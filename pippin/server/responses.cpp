// OpenAI's Responses API: POST /v1/responses, and endpoints of stored and running responses.
#include <ctime>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/server/adapters.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/message_fields.h"
#include "pippin/server/prompt.h"
#include "pippin/server/random_id.h"
#include "pippin/server/request_json.h"
#include "pippin/server/response_items.h"
#include "pippin/server/response_list.h"
#include "pippin/server/response_request.h"
#include "pippin/server/response_writer.h"
#include "pippin/server/routes.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPrefix = "resp_";
constexpr auto kCancelWait = 10s;  // a step takes only a moment

// Parses a stored response: {"model", "input": the whole conversation before it, "response"}. It is
// one level deeper than its request.
Json stored_document(const std::string& text) {
  return Json::parse(text, "stored response", {.max_depth = 200});
}

std::string document_text(const std::string& model, const std::string& input,
                          const std::string& response) {
  JsonWriter json;
  json.begin_object().member("model", model).key("input").raw(input);
  return json.key("response").raw(response).end_object().text();
}

std::string items_text(const std::vector<InputItem>& items) {
  JsonWriter json;
  json.begin_array();
  for (const InputItem& item : items) json.value(item.json);
  return json.end_array().text();
}

[[noreturn]] void refuse_unknown(const std::string& id) {
  throw ApiError(404, "no stored response " + shown(id), "response_id");
}

// Adds the items of the conversation that the request continues. Returns the model that wrote it.
std::string add_previous(KnownResponses& known, const std::string& id,
                         std::vector<InputItem>& items) {
  constexpr const char* kField = "previous_response_id";
  const auto refuse = [&](const std::string& what, std::string code = {}) {
    throw ApiError(400, fmt::format("{}: {}", kField, what), kField, std::move(code));
  };
  if (known.running.find(id) != nullptr) refuse(shown(id) + " is still under way");
  const auto text = known.store.get(id);
  if (!text) {
    refuse(known.store.keeps()
               ? "no stored response " + shown(id)
               : "this server stores no responses (--stored-responses 0): send the whole input",
           "previous_response_not_found");
  }
  const Json document = stored_document(*text);
  for (const Json& list : {document.at("input"), document.at("response").at("output")}) {
    for (const Json& item : list.elements()) {
      items.push_back({item, fmt::format("{}: item {}", kField, items.size())});
    }
  }
  return document.get_string("model");
}

// Clients refer to items of stored responses instead of sending them again. An item's id contains
// that of its response.
Json referred_item(KnownResponses& known, const InputItem& reference) {
  const std::string place = reference.place + ".id";
  const auto id = reference.json.find("id");
  if (!id || !id->is_string()) throw ApiError(400, place + ": expected a string", place);
  const std::string name(id->as_string());
  const size_t begin = name.find('_') + 1, end = name.rfind('_');
  if (begin > 0 && end > begin) {
    const auto text = known.store.get(std::string(kPrefix) + name.substr(begin, end - begin));
    if (text) {
      const Json document = stored_document(*text);
      for (const Json& item : document.at("response").at("output").elements()) {
        if (item.get_string("id") == name) return item;
      }
    }
  }
  throw ApiError(400, fmt::format("{}: no stored item {}", place, shown(name)), place,
                 "item_not_found");
}

std::vector<InputItem> new_items(KnownResponses& known, const RequestFields& body) {
  const auto input = body.find("input");
  if (!input) {
    if (body.has("previous_response_id")) return {};
    throw ApiError(400, "input: is missing", "input");
  }
  std::vector<InputItem> items = input_items(*input);
  for (InputItem& item : items) {
    const auto type = item.json.is_object() ? item.json.find("type") : std::nullopt;
    if (type && type->is_string() && type->as_string() == "item_reference") {
      item.json = referred_item(known, item);
    }
  }
  return items;
}

// A conversation that the model is to continue.
struct Asked {
  std::vector<InputItem> items;
  ChatInput input;
  std::string previous_model;  // empty: there is no earlier response
};

Asked read_conversation(KnownResponses& known, const RequestFields& body,
                        const ResponseRequest& request) {
  Asked asked;
  if (request.previous_id) {
    asked.previous_model = add_previous(known, *request.previous_id, asked.items);
  }
  for (InputItem& item : new_items(known, body)) asked.items.push_back(std::move(item));
  asked.input = response_messages(request.instructions, asked.items);
  return asked;
}

RenderedChat render(const ServedModel& model, const Asked& asked, const RequestFields& body,
                    const ResponseRequest& request) {
  if (!asked.previous_model.empty() && asked.previous_model != model.name) {
    throw ApiError(400,
                   fmt::format("previous_response_id: model \"{}\" wrote that response, not \"{}\"",
                               asked.previous_model, model.name),
                   "previous_response_id");
  }
  RenderedChat prompt = render_chat(model, asked.input, body, request.tools, false, "input");
  truncate_prompt(model, prompt, request.text.prompt_tokens, request.text.max_tokens);
  return prompt;
}

ResponseWriterOptions writer_options(const RequestFields& body, const ResponseRequest& request,
                                     const ServedModel& model, std::chrono::milliseconds silence) {
  ResponseWriterOptions options;
  options.name = random_digits();  // gives access to a stored conversation
  options.model = answering_name(*model.loaded.model, model.name, request.text.model);
  options.created = std::time(nullptr);
  options.echo = echoed_request(body, request, model);
  options.streams = request.text.streams;
  options.in_background = request.in_background;
  options.seals_thoughts = request.seals_thoughts;
  options.silence = silence;
  return options;
}

}  // namespace

void Endpoints::create_response(const http::Request& http_request, const Replying& reply) {
  const RequestFields body = read_fields(parse_body(http_request.body), kResponses);
  ResponseRequest request = read_response_request(body);
  request.is_stored = request.is_stored && responses_->store.keeps();
  if (request.in_background && !request.is_stored) {
    throw ApiError(400, "background: needs a response that is stored", "background");
  }
  const Asked asked = read_conversation(*responses_, body, request);
  const auto model = open(body, reply);
  RenderedChat prompt = render(*model, asked, body, request);
  ResponseWriterOptions options = writer_options(body, request, *model, silence_);
  TextJobOptions job;
  job.request = std::move(request.text);
  job.tools = std::move(request.tools);
  note_ignored(*reply, body, job, prompt.unheeded);
  job.is_chat = job.splits_reasoning = true;
  job.in_background = reply->in_background();
  job.hides_thoughts = request.hides_thoughts;
  job.prompt_field = "input";
  take_prompt(prompt, job);

  const auto running = std::make_shared<RunningResponse>(reply, options.in_background);
  const std::string id = std::string(kPrefix) + options.name;
  ResponseKeeper keeper;
  keeper.on_begin = [running, id, known = responses_](const std::string& response) {
    running->tell(response, false);
    known->running.add(id, running);
  };
  keeper.on_end = [running, id, known = responses_, model_name = model->name,
                   is_stored = request.is_stored,
                   input = request.is_stored ? items_text(asked.items) : ""](
                      const std::string& response, bool is_answer) {
    if (is_stored && is_answer) known->store.put(id, document_text(model_name, input, response));
    running->tell(response, true);
    known->running.remove(id);
  };
  auto writer = make_response_writer(running, std::move(options), std::move(keeper));
  start_text_job(model, std::move(job), forms_, running, std::move(writer),
                 [reply](const Usage& usage, const ApiError*) { reply->note_usage(usage); });
}

void Endpoints::count_response_tokens(const http::Request& request, const Replying& reply) {
  const RequestFields body = read_fields(parse_body(request.body), kResponses);
  ResponseRequest read = read_response_request(body);
  const Asked asked = read_conversation(*responses_, body, read);
  const auto model = open(body, reply);
  const RenderedChat prompt = render(*model, asked, body, read);
  TextJobOptions job;
  job.request = std::move(read.text);
  job.tools = std::move(read.tools);
  note_ignored(*reply, body, job, prompt.unheeded);
  JsonWriter json;
  json.begin_object().member("object", "response.input_tokens");
  reply->send({.body = json.member("input_tokens", prompt.ids.size()).end_object().text()});
}

void Endpoints::retrieve_response(const http::Request& request, const Replying& reply) {
  const std::string id(name_in_path(request.path));
  if (http::find_field(request.query, "stream") == "true") {
    throw ApiError(400, "stream: a response that was written is given as a whole", "stream");
  }
  if (const auto running = responses_->running.find(id)) {
    return reply->send({.body = running->text()});
  }
  const auto text = responses_->store.get(id);
  if (!text) refuse_unknown(id);
  reply->send({.body = stored_document(*text).at("response").dump()});
}

void Endpoints::list_response_input(const http::Request& request, const Replying& reply) {
  const std::string id(name_in_path(request.path));
  const auto text = responses_->store.get(id);
  if (!text) refuse_unknown(id);
  const Json document = stored_document(*text);
  reply->send(
      {.body = list_input_items(document.at("input"), request.query, id.substr(kPrefix.size()))});
}

void Endpoints::delete_response(const http::Request& request, const Replying& reply) {
  const std::string id(name_in_path(request.path));
  if (responses_->running.find(id) != nullptr) {
    throw ApiError(400, shown(id) + " is under way: cancel it first", "response_id");
  }
  if (!responses_->store.remove(id)) refuse_unknown(id);
  JsonWriter json;
  json.begin_object().member("id", id).member("object", "response");
  reply->send({.body = json.member("deleted", true).end_object().text()});
}

void Endpoints::cancel_response(const http::Request& request, const Replying& reply) {
  const std::string id(name_in_path(request.path));
  if (const auto running = responses_->running.find(id)) {
    running->cancel();
    return reply->send({.body = running->wait(kCancelWait)});
  }
  const auto text = responses_->store.get(id);
  if (!text) refuse_unknown(id);
  const Json response = stored_document(*text).at("response");
  if (!response.get_bool("background")) {
    throw ApiError(400, shown(id) + " has ended already", "response_id");
  }
  reply->send({.body = response.dump()});
}

}  // namespace pippin::server
