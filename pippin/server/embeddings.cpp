#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "pippin/app/unit_vector.h"
#include "pippin/base/base64.h"
#include "pippin/base/error.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/prompt.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

void check_dimensions(std::optional<int64_t> dimensions, const std::vector<float>& vector) {
  if (!dimensions || *dimensions <= std::ssize(vector)) return;
  throw ApiError(400, fmt::format("dimensions: the model's embeddings have {}", vector.size()),
                 "dimensions");
}

// Embeds with the language model's last hidden states.
std::optional<app::Embedded> by_language_model(ModelList& models, const OpenedModel& opened,
                                               const RequestFields& body, bool cuts,
                                               const Endpoints::Replying& reply) {
  ServedModel& model = *opened.model;
  const auto dimensions = find_int(body, "dimensions", 1);
  if (body.has("prompt_name")) {
    throw ApiError(400, "prompt_name: the model has no prompts for texts", "prompt_name");
  }
  const bool truncates = find_bool(body, "truncate").value_or(cuts);
  auto prompts = read_texts(model, body, "input");
  for (auto& prompt : prompts) {
    const auto most = static_cast<size_t>(model.loaded.model->context());
    if (truncates && prompt.size() > most) prompt.resize(most);
    check_prompt(model, prompt, "input");
  }
  const auto embedder = models.embedder(model);
  app::Embedded result;
  for (const std::vector<int32_t>& prompt : prompts) {
    if (reply->is_gone()) return std::nullopt;
    std::vector<float> vector = embedder->embed(prompt);
    check_dimensions(dimensions, vector);
    if (dimensions) app::shorten(vector, static_cast<size_t>(*dimensions));
    result.vectors.push_back(std::move(vector));
    result.tokens += std::ssize(prompt);
  }
  return result;
}

app::Embedded by_encoder(const app::TextEncoder& encoder, const RequestFields& body) {
  const auto dimensions = find_int(body, "dimensions", 1);
  app::EmbedOptions options;
  options.prompt_name = find_string(body, "prompt_name");
  options.refuse_long = !find_bool(body, "truncate").value_or(true);
  const TextInputs inputs = read_inputs(body, "input");
  app::Embedded result = read_field("input", [&] {
    return inputs.ids.empty() ? encoder.embed(inputs.texts, options)
                              : encoder.embed_ids(inputs.ids, options);
  });
  for (std::vector<float>& vector : result.vectors) {
    check_dimensions(dimensions, vector);
    if (dimensions) app::shorten(vector, static_cast<size_t>(*dimensions));
  }
  return result;
}

// The base64 of their little-endian bytes is half as long as their digits.
void write_vector(JsonWriter& json, const std::vector<float>& vector, bool as_base64) {
  if (as_base64) {
    json.value(encode_base64(std::as_bytes(std::span(vector))));
    return;
  }
  json.begin_array();
  for (const float x : vector) json.value(double{x});
  json.end_array();
}

// The other endpoints return only lists of numbers.
RequestFields with_floats_only(const http::Request& request) {
  RequestFields fields(parse_body(request.body), kEmbeddings);
  if (find_string(fields, "encoding_format").value_or("float") != "float") {
    throw ApiError(400, "encoding_format: only float, base64 comes from /v1/embeddings",
                   "encoding_format");
  }
  return fields;
}

}  // namespace

// Returns nothing if the client has disconnected.
std::optional<Endpoints::NamedVectors> Endpoints::embed(const RequestFields& fields,
                                                        const Replying& reply, bool cuts) {
  reply->note_ignored(fields.ignored());
  const OpenedModel opened = open_any(fields, reply);
  auto embedded = opened.encoder != nullptr
                      ? by_encoder(*opened.encoder, fields)
                      : by_language_model(models_, opened, fields, cuts, reply);
  if (!embedded) return std::nullopt;
  models_.check_files(opened);
  return NamedVectors{opened.name, std::move(embedded->vectors), embedded->tokens};
}

void Endpoints::embeddings(const http::Request& request, const Replying& reply) {
  const RequestFields fields(parse_body(request.body), kEmbeddings);
  const std::string format = find_string(fields, "encoding_format").value_or("float");
  if (format != "float" && format != "base64") {
    throw ApiError(400, "encoding_format: neither float nor base64", "encoding_format");
  }
  const auto embedded = embed(fields, reply);
  if (!embedded) return;
  JsonWriter json;
  json.begin_object().member("object", "list").key("data").begin_array();
  for (size_t i = 0; i < embedded->vectors.size(); ++i) {
    json.begin_object().member("object", "embedding").member("index", i).key("embedding");
    write_vector(json, embedded->vectors[i], format == "base64");
    json.end_object();
  }
  json.end_array().member("model", embedded->model);
  json.key("usage").begin_object().member("prompt_tokens", embedded->tokens);
  json.member("total_tokens", embedded->tokens).end_object();
  reply->send({.body = json.end_object().text()});
}

// llama-server's form: for each text a list of vectors, with one element.
void Endpoints::native_embeddings(const http::Request& request, const Replying& reply) {
  const auto embedded = embed(with_floats_only(request), reply);
  if (!embedded) return;
  JsonWriter json;
  json.begin_array();
  for (size_t i = 0; i < embedded->vectors.size(); ++i) {
    json.begin_object().member("index", i).key("embedding").begin_array();
    write_vector(json, embedded->vectors[i], false);
    json.end_array().end_object();
  }
  reply->send({.body = json.end_array().text()});
}

// The form of text-embeddings-inference: only the vectors.
void Endpoints::plain_embeddings(const http::Request& request, const Replying& reply) {
  const auto embedded = embed(with_floats_only(request), reply);
  if (!embedded) return;
  JsonWriter json;
  json.begin_array();
  for (const std::vector<float>& vector : embedded->vectors) write_vector(json, vector, false);
  reply->send({.body = json.end_array().text()});
}

}  // namespace pippin::server
