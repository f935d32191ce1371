#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/prompt.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

// Numbers as their bytes, little-endian, in base64: half as long as their digits.
std::string base64_of(const std::vector<float>& numbers) {
  const size_t bytes = numbers.size() * sizeof(float);
  std::string text((bytes + 2) / 3 * 4, '\0');
  std::vector<unsigned char> with_zero(text.size() + 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's bytes
  EVP_EncodeBlock(with_zero.data(), reinterpret_cast<const unsigned char*>(numbers.data()),
                  static_cast<int>(bytes));
  text.assign(with_zero.begin(), with_zero.end() - 1);
  return text;
}

}  // namespace

void Endpoints::embeddings(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  const std::string format = find_string(body, "encoding_format").value_or("float");
  if (format != "float" && format != "base64") {
    throw ApiError(400, "encoding_format: neither float nor base64", "encoding_format");
  }
  const auto dimensions = find_int(body, "dimensions", 1);
  const auto model = open(find_string(body, "model").value_or(""), reply);
  const auto prompts = read_texts(*model, body, "input");
  for (const auto& prompt : prompts) check_prompt(*model, prompt, "input");
  const auto embedder = models_.embedder(*model);
  JsonWriter json;
  json.begin_object().member("object", "list").key("data").begin_array();
  int64_t tokens = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    if (reply->is_gone()) return;
    std::vector<float> vector = embedder->embed(prompts[i]);
    if (dimensions && *dimensions > std::ssize(vector)) {
      throw ApiError(400, fmt::format("dimensions: the model's embeddings have {}", vector.size()),
                     "dimensions");
    }
    if (dimensions) shorten(vector, static_cast<size_t>(*dimensions));
    json.begin_object().member("object", "embedding").member("index", i);
    json.key("embedding");
    if (format == "base64") {
      json.value(base64_of(vector));
    } else {
      json.begin_array();
      for (const float x : vector) json.value(double{x});
      json.end_array();
    }
    json.end_object();
    tokens += std::ssize(prompts[i]);
  }
  json.end_array().member("model", model->name);
  json.key("usage").begin_object().member("prompt_tokens", tokens);
  json.member("total_tokens", tokens).end_object();
  reply->send({.body = json.end_object().text()});
}

}  // namespace pippin::server
