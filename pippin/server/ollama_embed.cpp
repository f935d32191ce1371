// POST /api/embed and /api/embeddings, in ollama's form.
#include <chrono>

#include "pippin/base/stopwatch.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

// A request without a text loads the model.
bool has_input(const RequestFields& fields) {
  const auto input = fields.find("input");
  if (!input) return false;
  if (input->is_string()) return !input->as_string().empty();
  return !input->is_array() || input->size() > 0;
}

void write_numbers(JsonWriter& json, const std::vector<float>& vector) {
  json.begin_array();
  for (const float x : vector) json.value(double{x});
  json.end_array();
}

}  // namespace

void Endpoints::embed_for_ollama(const http::Request& request, bool is_one, const Replying& reply) {
  const auto start = std::chrono::steady_clock::now();
  RequestFields fields(parse_body(request.body), kOllamaEmbed);
  if (const auto options = fields.find("options")) {
    if (!options->is_object()) throw ApiError(400, "options: expected an object", "options");
    RequestFields(*options, kOllamaOptions);  // only checked: none of them changes a vector
  }
  if (is_one && fields.has("input") && !fields.find("input")->is_string()) {
    throw ApiError(400, "prompt: expected a string", "prompt");
  }
  const std::string name = find_string(fields, "model").value_or("");
  const OpenedModel opened = open_any(fields, reply);
  const double load_seconds = seconds_since(start);
  NamedVectors vectors{.model = opened.name};
  if (has_input(fields)) {
    auto embedded = embed(fields, reply, true);
    if (!embedded) return;
    vectors = std::move(*embedded);
  }
  JsonWriter json;
  json.begin_object();
  if (is_one) {
    json.key("embedding");
    write_numbers(json, vectors.vectors.empty() ? std::vector<float>() : vectors.vectors.front());
    reply->send({.body = json.end_object().text()});
    return;
  }
  json.member("model", name.empty() ? opened.name : name).key("embeddings").begin_array();
  for (const std::vector<float>& vector : vectors.vectors) write_numbers(json, vector);
  json.end_array();
  const auto nanoseconds = [](double seconds) { return static_cast<int64_t>(seconds * 1e9); };
  json.member("total_duration", nanoseconds(seconds_since(start)));
  json.member("load_duration", nanoseconds(load_seconds));
  json.member("prompt_eval_count", vectors.tokens).end_object();
  reply->send({.body = json.text()});
}

void Endpoints::ollama_embed(const http::Request& request, const Replying& reply) {
  embed_for_ollama(request, false, reply);
}

// The older endpoint, for one text.
void Endpoints::ollama_embeddings(const http::Request& request, const Replying& reply) {
  embed_for_ollama(request, true, reply);
}

}  // namespace pippin::server
