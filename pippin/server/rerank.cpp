// POST /v1/rerank, as Jina, Cohere and llama.cpp have it.
#include <algorithm>
#include <numeric>
#include <utility>

#include "pippin/server/endpoints.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

constexpr size_t kMaxDocuments = 2048;

// Texts, or objects that have one.
std::vector<std::string> read_documents(const RequestFields& body) {
  const auto list = body.find("documents");
  if (!list || !list->is_array() || list->size() == 0) {
    throw ApiError(400, "documents: expected a list of texts", "documents");
  }
  if (list->size() > kMaxDocuments) {
    throw ApiError(400, "documents: more than " + std::to_string(kMaxDocuments), "documents");
  }
  return read_field("documents", [&] {
    std::vector<std::string> documents;
    for (const Json& one : list->elements()) {
      documents.emplace_back(one.is_object() ? one.get_string("text")
                                             : std::string(one.as_string()));
    }
    return documents;
  });
}

}  // namespace

void Endpoints::rerank(const http::Request& request, const Replying& reply) {
  const RequestFields body(parse_body(request.body), kRerank);
  const auto query = find_string(body, "query");
  if (!query) throw ApiError(400, "query: is missing", "query");
  const std::vector<std::string> documents = read_documents(body);
  const auto top = find_int(body, "top_n", 1);
  const bool returns = find_bool(body, "return_documents").value_or(false);
  const bool refuses = !find_bool(body, "truncate").value_or(true);
  reply->note_ignored(body.ignored());
  const OpenedModel opened = models_.open(find_string(body, "model").value_or(""));
  reply->note_model(opened.name);
  if (opened.encoder == nullptr) {
    throw ApiError(400, "the model \"" + opened.name + "\" writes texts and scores none", "model");
  }
  const app::Scored scored =
      read_field("documents", [&] { return opened.encoder->score(*query, documents, refuses); });
  std::vector<size_t> order(documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scored.scores[a] > scored.scores[b]; });
  if (top) order.resize(std::min(order.size(), static_cast<size_t>(*top)));
  JsonWriter json;
  json.begin_object().member("object", "list").member("model", opened.name);
  json.key("results").begin_array();
  for (const size_t i : order) {
    json.begin_object().member("index", i).member("relevance_score", scored.scores[i]);
    if (returns) {
      json.key("document").begin_object().member("text", documents[i]).end_object();
    }
    json.end_object();
  }
  json.end_array().key("usage").begin_object().member("prompt_tokens", scored.tokens);
  json.member("total_tokens", scored.tokens).end_object();
  reply->send({.body = json.end_object().text()});
}

}  // namespace pippin::server
