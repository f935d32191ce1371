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

// What a language model's head multiplies.
std::optional<app::Embedded> by_language_model(ModelList& models, const OpenedModel& opened,
                                               const RequestFields& body,
                                               const Endpoints::Replying& reply) {
  ServedModel& model = *opened.model;
  const auto dimensions = find_int(body, "dimensions", 1);
  if (body.has("prompt_name")) {
    throw ApiError(400, "prompt_name: the model has no prompts for texts", "prompt_name");
  }
  const bool truncates = find_bool(body, "truncate").value_or(false);
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

}  // namespace

void Endpoints::embeddings(const http::Request& request, const Replying& reply) {
  const RequestFields body(parse_body(request.body), kEmbeddings);
  const std::string format = find_string(body, "encoding_format").value_or("float");
  if (format != "float" && format != "base64") {
    throw ApiError(400, "encoding_format: neither float nor base64", "encoding_format");
  }
  reply->note_ignored(body.ignored());
  const OpenedModel opened = models_.open(find_string(body, "model").value_or(""));
  reply->note_model(opened.name);
  const std::optional<app::Embedded> embedded =
      opened.encoder != nullptr ? by_encoder(*opened.encoder, body)
                                : by_language_model(models_, opened, body, reply);
  if (!embedded) return;  // nobody waits for it
  JsonWriter json;
  json.begin_object().member("object", "list").key("data").begin_array();
  for (size_t i = 0; i < embedded->vectors.size(); ++i) {
    const std::vector<float>& vector = embedded->vectors[i];
    json.begin_object().member("object", "embedding").member("index", i);
    json.key("embedding");
    if (format == "base64") {
      // Their bytes, little-endian: half as long as their digits.
      json.value(encode_base64(std::as_bytes(std::span(vector))));
    } else {
      json.begin_array();
      for (const float x : vector) json.value(double{x});
      json.end_array();
    }
    json.end_object();
  }
  json.end_array().member("model", opened.name);
  json.key("usage").begin_object().member("prompt_tokens", embedded->tokens);
  json.member("total_tokens", embedded->tokens).end_object();
  reply->send({.body = json.end_object().text()});
}

}  // namespace pippin::server
