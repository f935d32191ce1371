#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/app/unit_vector.h"
#include "pippin/base/base64.h"
#include "pippin/base/error.h"
#include "pippin/server/embedding_inputs.h"
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
  for (const char* field : {"prompt_name", "input_type"}) {
    if (!body.has(field)) continue;
    throw ApiError(400, std::string(field) + ": the model has no prompts for texts", field);
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

// Uses prompt_name, or the prompt for input_type.
app::EmbedOptions embed_options(const app::TextEncoder& encoder, const RequestFields& body) {
  const bool refuses = !find_bool(body, "truncate").value_or(true);
  app::EmbedOptions options{.refuse_long = refuses};
  if (const auto type = find_string(body, "input_type")) {
    if (*type != "query" && *type != "document") {
      throw ApiError(400, "input_type: neither query nor document", "input_type");
    }
    options = encoder.options_for(*type == "query", refuses);
  }
  if (const auto name = find_string(body, "prompt_name")) options.prompt_name = name;
  return options;
}

[[noreturn]] void refuse_texts(const OpenedModel& opened) {
  throw ApiError(400,
                 "the model \"" + opened.name + "\" " +
                     (opened.images != nullptr ? "takes images, not texts"
                                               : "takes no images, and texts as strings only"),
                 "input");
}

app::Embedded by_encoder(const app::TextEncoder& encoder, const RequestFields& body) {
  const auto dimensions = find_int(body, "dimensions", 1);
  const app::EmbedOptions options = embed_options(encoder, body);
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

// The images of a request, by the model's tower.
std::vector<std::vector<float>> image_vectors(const app::ImageEncoder* encoder,
                                              const MessageImages& images, bool allows_urls,
                                              int64_t dimensions) {
  if (images.empty()) return {};
  const std::string& first = images.images().front().place;
  if (encoder == nullptr) throw ApiError(400, first + ": the model takes texts only", first);
  std::vector<size_t> order(images.images().size());
  std::iota(order.begin(), order.end(), size_t{0});
  const std::vector<std::string> bytes = images.bytes_of(order, allows_urls);
  std::vector<runtime::ImageFile> files;
  files.reserve(bytes.size());
  for (const size_t i : order) {
    files.push_back({as_byte_span(bytes[i]), images.images()[i].place});
  }
  return read_field(first, [&] { return encoder->embed(files, dimensions); });
}

// Texts and images, in their order.
app::Embedded by_both_encoders(const OpenedModel& opened, const MixedInputs& inputs,
                               const RequestFields& body, bool allows_urls) {
  app::Embedded result;
  const int64_t dimensions = find_int(body, "dimensions", 1).value_or(0);
  auto of_images = image_vectors(opened.images.get(), inputs.images, allows_urls, dimensions);
  std::vector<std::vector<float>> of_texts;
  if (!inputs.texts.empty()) {
    if (opened.encoder == nullptr) refuse_texts(opened);
    app::EmbedOptions options = embed_options(*opened.encoder, body);
    options.dimensions = dimensions;
    app::Embedded made =
        read_field("input", [&] { return opened.encoder->embed(inputs.texts, options); });
    of_texts = std::move(made.vectors);
    result.tokens = made.tokens;
  }
  size_t text = 0, image = 0;
  result.vectors.reserve(inputs.is_image.size());
  for (const bool is_image : inputs.is_image) {
    result.vectors.push_back(std::move(is_image ? of_images[image++] : of_texts[text++]));
  }
  return result;
}

// Sparse or token vectors, each as JSON.
struct OtherVectors {
  std::vector<std::string> json;
  int64_t tokens = 0;
};

void write_numbers(JsonWriter& json, std::span<const float> values) {
  json.begin_array();
  for (const float x : values) json.value(double{x});
  json.end_array();
}

OtherVectors sparse_vectors(const app::SparseEmbedded& made) {
  OtherVectors result{{}, made.tokens};
  result.json.reserve(made.vectors.size());
  for (const app::SparseVector& vector : made.vectors) {
    JsonWriter json;
    json.begin_object().key("indices").begin_array();
    for (const int32_t index : vector.indices) json.value(int64_t{index});
    json.end_array().key("values");
    write_numbers(json, vector.values);
    result.json.push_back(json.end_object().text());
  }
  return result;
}

OtherVectors token_vectors(const app::TokenEmbedded& made) {
  OtherVectors result{{}, made.tokens};
  result.json.reserve(made.vectors.size());
  for (const app::TokenVectors& vectors : made.vectors) {
    JsonWriter json;
    json.begin_array();
    for (size_t i = 0; i < vectors.count(); ++i) {
      write_numbers(json, std::span(vectors.values).subspan(i * vectors.width, vectors.width));
    }
    result.json.push_back(json.end_array().text());
  }
  return result;
}

// Vectors of a sparse encoder or of one with token vectors. They have neither parts nor base64, and
// need texts.
OtherVectors by_other_encoder(const app::TextEncoder& encoder, const RequestFields& body) {
  if (body.has("dimensions")) {
    throw ApiError(400, "dimensions: only for dense embeddings", "dimensions");
  }
  if (find_string(body, "encoding_format").value_or("float") != "float") {
    throw ApiError(400, "encoding_format: base64 is only for dense embeddings", "encoding_format");
  }
  const app::EmbedOptions options = embed_options(encoder, body);
  const TextInputs inputs = read_inputs(body, "input");
  if (!inputs.ids.empty()) {
    throw ApiError(400, "input: tokens are only for dense embeddings", "input");
  }
  return read_field("input", [&] {
    return encoder.kind() == app::VectorKind::Sparse
               ? sparse_vectors(encoder.embed_sparse(inputs.texts, options))
               : token_vectors(encoder.embed_tokens(inputs.texts, options));
  });
}

// The base64 of their little-endian bytes is half as long as their digits.
void write_vector(JsonWriter& json, const std::vector<float>& vector, bool as_base64) {
  if (as_base64) {
    json.value(encode_base64(std::as_bytes(std::span(vector))));
  } else {
    write_numbers(json, vector);
  }
}

// Sends OpenAI's form: vectors as JSON.
void send_embeddings(const Endpoints::Replying& reply, const std::string& model,
                     const std::vector<std::string>& vectors, int64_t tokens) {
  JsonWriter json;
  json.begin_object().member("object", "list").key("data").begin_array();
  for (size_t i = 0; i < vectors.size(); ++i) {
    json.begin_object().member("object", "embedding").member("index", i).key("embedding");
    json.raw(vectors[i]).end_object();
  }
  json.end_array().member("model", model);
  json.key("usage").begin_object().member("prompt_tokens", tokens);
  json.member("total_tokens", tokens).end_object();
  reply->send({.body = json.end_object().text()});
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

OpenedModel Endpoints::open_embedder(const RequestFields& fields, const Replying& reply) {
  reply->note_ignored(fields.ignored());
  OpenedModel opened = open_any(fields, reply);
  if (!opened.adapter.empty()) {
    throw ApiError(
        400, fmt::format("\"{}\": vectors are the model's own, without adapters", opened.name),
        "model");
  }
  if (opened.speech == nullptr) return opened;
  throw ApiError(400, "the model \"" + opened.name + "\" takes recordings, not texts", "model");
}

std::optional<Endpoints::NamedVectors> Endpoints::embed(const RequestFields& fields,
                                                        const Replying& reply, bool cuts) {
  return embed(open_embedder(fields, reply), fields, reply, cuts);
}

// Returns nothing if the client has disconnected.
std::optional<Endpoints::NamedVectors> Endpoints::embed(const OpenedModel& opened,
                                                        const RequestFields& fields,
                                                        const Replying& reply, bool cuts) {
  std::optional<app::Embedded> embedded;
  if (const auto inputs = read_mixed_inputs(fields)) {
    embedded = by_both_encoders(opened, *inputs, fields, models_.allows_remote_images());
  } else if (opened.encoder != nullptr) {
    embedded = by_encoder(*opened.encoder, fields);
  } else if (opened.model != nullptr) {
    embedded = by_language_model(models_, opened, fields, cuts, reply);
  } else {
    refuse_texts(opened);
  }
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
  const OpenedModel opened = open_embedder(fields, reply);
  if (opened.encoder != nullptr && opened.encoder->kind() != app::VectorKind::Dense) {
    const OtherVectors made = by_other_encoder(*opened.encoder, fields);
    models_.check_files(opened);
    return send_embeddings(reply, opened.name, made.json, made.tokens);
  }
  const auto embedded = embed(opened, fields, reply);
  if (!embedded) return;
  std::vector<std::string> vectors;
  vectors.reserve(embedded->vectors.size());
  for (const std::vector<float>& vector : embedded->vectors) {
    JsonWriter json;
    write_vector(json, vector, format == "base64");
    vectors.push_back(json.text());
  }
  send_embeddings(reply, embedded->model, vectors, embedded->tokens);
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
