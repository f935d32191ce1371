// Scores of texts: /v1/rerank in the form of Jina, Cohere and llama-server, /rerank with `texts` in
// that of text-embeddings-inference, /v1/score in vLLM's.
#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "pippin/server/endpoints.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

constexpr size_t kMaxDocuments = 2048;

// Reads texts, or objects that contain one.
std::vector<std::string> read_texts_of(const RequestFields& fields, std::string_view name) {
  const std::string param = fields.spelling(name);
  const auto list = fields.find(name);
  if (!list || !list->is_array() || list->size() == 0) {
    throw ApiError(400, param + ": expected a list of texts", param);
  }
  if (list->size() > kMaxDocuments) {
    throw ApiError(400, param + ": more than " + std::to_string(kMaxDocuments), param);
  }
  return read_field(param, [&] {
    std::vector<std::string> texts;
    for (const Json& one : list->elements()) {
      texts.emplace_back(one.is_object() ? one.get_string("text") : std::string(one.as_string()));
    }
    return texts;
  });
}

std::vector<std::string> read_one_or_more(const RequestFields& fields, std::string_view name) {
  const auto value = fields.find(name);
  if (!value) {
    throw ApiError(400, std::string(name) + ": is missing", std::string(name));
  }
  if (value->is_string()) return {std::string(value->as_string())};
  return read_texts_of(fields, name);
}

// Returns the order of the scores, best first.
std::vector<size_t> order_of(const std::vector<double>& scores, std::optional<int64_t> top) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  if (top) order.resize(std::min(order.size(), static_cast<size_t>(*top)));
  return order;
}

void write_counts(JsonWriter& json, int64_t tokens) {
  json.key("usage").begin_object().member("prompt_tokens", tokens);
  json.member("total_tokens", tokens).end_object();
}

}  // namespace

OpenedModel Endpoints::open_scorer(const RequestFields& fields, const Replying& reply) {
  reply->note_ignored(fields.ignored());
  OpenedModel opened = open_any(fields, reply);
  if (opened.encoder == nullptr) {
    throw ApiError(400,
                   "the model \"" + opened.name + "\" " +
                       (opened.speech != nullptr   ? "takes recordings, not texts"
                        : opened.images != nullptr ? "takes images, not texts"
                                                   : "writes texts and scores none"),
                   "model");
  }
  return opened;
}

void Endpoints::rerank(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  if (!body.has("texts")) return rerank(request, RequestFields(body, kRerank), reply);
  try {
    rerank(request, RequestFields(body, kRerank), reply);
  } catch (...) {
    const ApiError error = api_error(std::current_exception());
    reply->send(error_response(error, Dialect::TextEmbeddings));
  }
}

void Endpoints::rerank(const http::Request& request, const RequestFields& fields,
                       const Replying& reply) {
  const auto query = find_string(fields, "query");
  if (!query) throw ApiError(400, "query: is missing", "query");
  const std::string param = fields.spelling("documents");
  const std::vector<std::string> documents = read_texts_of(fields, "documents");
  const auto top = find_int(fields, "top_n", 1);
  const bool returns = find_bool(fields, "return_documents").value_or(false);
  const bool refuses = !find_bool(fields, "truncate").value_or(true);
  const OpenedModel opened = open_scorer(fields, reply);
  const app::Scored scored =
      read_field(param, [&] { return opened.encoder->score(*query, documents, refuses); });
  models_.check_files(opened);
  const std::vector<size_t> order = order_of(scored.scores, top);
  JsonWriter json;
  if (param == "texts") {
    json.begin_array();
    for (const size_t i : order) {
      json.begin_object().member("index", i).member("score", scored.scores[i]);
      if (returns) json.member("text", documents[i]);
      json.end_object();
    }
    return reply->send({.body = json.end_array().text()});
  }
  json.begin_object().member("object", "list").member("id", "rerank-" + reply->id());
  json.member("model", opened.name).key("results").begin_array();
  for (const size_t i : order) {
    json.begin_object().member("index", i).member("relevance_score", scored.scores[i]);
    if (returns) {
      json.key("document").begin_object().member("text", documents[i]).end_object();
    }
    json.end_object();
  }
  json.end_array();
  write_counts(json, scored.tokens);
  // Cohere's clients require this member.
  json.key("meta").begin_object().key("api_version").begin_object();
  json.member("version", request.path.starts_with("/v2/") ? "2" : "1").end_object().end_object();
  reply->send({.body = json.end_object().text()});
}

// Scores one text with each of several others, or pairs.
void Endpoints::score(const http::Request& request, const Replying& reply) {
  const RequestFields fields(parse_body(request.body), kScore);
  const std::vector<std::string> first = read_one_or_more(fields, "text_1");
  const std::vector<std::string> second = read_one_or_more(fields, "text_2");
  if (first.size() != 1 && first.size() != second.size()) {
    throw ApiError(400,
                   fmt::format("text_1: has {} texts, text_2 {}: one with each, or pairs",
                               first.size(), second.size()),
                   "text_1");
  }
  const OpenedModel opened = open_scorer(fields, reply);
  app::Scored scored;
  read_field("text_2", [&] {
    if (first.size() == 1) {
      scored = opened.encoder->score(first.front(), second);
      return 0;
    }
    for (size_t i = 0; i < first.size() && !reply->is_gone(); ++i) {
      const app::Scored one = opened.encoder->score(first[i], {&second[i], 1});
      scored.scores.push_back(one.scores.front());
      scored.tokens += one.tokens;
    }
    return 0;
  });
  models_.check_files(opened);
  JsonWriter json;
  json.begin_object().member("id", "score-" + reply->id()).member("object", "list");
  json.member("created", std::chrono::duration_cast<std::chrono::seconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count());
  json.member("model", opened.name).key("data").begin_array();
  for (size_t i = 0; i < scored.scores.size(); ++i) {
    json.begin_object().member("index", i).member("object", "score");
    json.member("score", scored.scores[i]).end_object();
  }
  json.end_array();
  write_counts(json, scored.tokens);
  reply->send({.body = json.end_object().text()});
}

}  // namespace pippin::server
