#include "pippin/server/routes.h"

#include <algorithm>
#include <array>
#include <optional>

#include "pippin/page/page.h"

namespace pippin::server {
namespace {

constexpr Dialect kLlama = Dialect::LlamaServer;
constexpr Status kNone = Status::None;
constexpr Dialect kOllamas = Dialect::Ollama;

// The first spelling of an endpoint is its label. Paths with a name come last.
constexpr std::array kRoutes = {
    Route{"POST", "/v1/chat/completions", &Endpoints::chat},
    Route{"POST", "/chat/completions", &Endpoints::chat},
    Route{"POST", "/v1/completions", &Endpoints::completions},
    Route{"POST", "/completions", &Endpoints::plain_completions},
    Route{"POST", "/completion", &Endpoints::complete, Status::None, kLlama},
    Route{"POST", "/infill", &Endpoints::infill, Status::None, kLlama},
    Route{"POST", "/v1/infill", &Endpoints::infill, Status::None, kLlama},
    Route{"POST", "/v1/messages", &Endpoints::messages, Status::None, Dialect::Anthropic},
    Route{"POST", "/v1/messages/count_tokens", &Endpoints::count_tokens, Status::None,
          Dialect::Anthropic},
    Route{"POST", "/v1/responses", &Endpoints::create_response},
    Route{"POST", "/responses", &Endpoints::create_response},
    Route{"POST", "/v1/responses/input_tokens", &Endpoints::count_response_tokens},
    Route{"POST", "/v1/responses/*/cancel", &Endpoints::cancel_response},
    Route{"POST", "/v1/files", &Endpoints::create_file},
    Route{"GET", "/v1/files", &Endpoints::list_files},
    Route{"POST", "/v1/batches", &Endpoints::create_batch},
    Route{"GET", "/v1/batches", &Endpoints::list_batches},
    Route{"POST", "/v1/batches/*/cancel", &Endpoints::cancel_batch},
    Route{"POST", "/v1/embeddings", &Endpoints::embeddings},
    Route{"POST", "/embeddings", &Endpoints::embeddings},
    Route{"POST", "/embedding", &Endpoints::native_embeddings, Status::None, kLlama},
    Route{"POST", "/embed", &Endpoints::plain_embeddings, Status::None, Dialect::TextEmbeddings},
    Route{"POST", "/v1/rerank", &Endpoints::rerank},
    Route{"POST", "/v2/rerank", &Endpoints::rerank},
    Route{"POST", "/rerank", &Endpoints::rerank},
    Route{"POST", "/v1/reranking", &Endpoints::rerank},
    Route{"POST", "/reranking", &Endpoints::rerank},
    Route{"POST", "/v1/score", &Endpoints::score},
    Route{"POST", "/score", &Endpoints::score},
    Route{"POST", "/v1/audio/transcriptions", &Endpoints::transcriptions},
    Route{"POST", "/audio/transcriptions", &Endpoints::transcriptions},
    Route{"POST", "/v1/audio/translations", &Endpoints::translations},
    Route{"POST", "/audio/translations", &Endpoints::translations},
    Route{"POST", "/inference", &Endpoints::inference},
    Route{"POST", "/tokenize", &Endpoints::tokenize},
    Route{"POST", "/v1/tokenize", &Endpoints::tokenize},
    Route{"POST", "/detokenize", &Endpoints::detokenize},
    Route{"POST", "/v1/detokenize", &Endpoints::detokenize},
    Route{"POST", "/apply-template", &Endpoints::apply_template, Status::None, kLlama},
    Route{"POST", "/v1/apply-template", &Endpoints::apply_template, Status::None, kLlama},
    Route{"GET", "/props", &Endpoints::props, Status::None, kLlama},
    Route{"GET", "/v1/props", &Endpoints::props, Status::None, kLlama},
    Route{"GET", "/lora-adapters", &Endpoints::list_adapters, Status::None, kLlama},
    Route{"POST", "/lora-adapters", &Endpoints::set_adapters, Status::None, kLlama},
    Route{"POST", "/models/load", &Endpoints::load, Status::None, kLlama},
    Route{"POST", "/models/unload", &Endpoints::unload, Status::None, kLlama},
    Route{"GET", "/tools", &Endpoints::tools},
    Route{"POST", "/tools/run", &Endpoints::run_tool},
    Route{"GET", "/clients", &Endpoints::clients},
    Route{"POST", "/api/chat", &Endpoints::ollama_chat, kNone, kOllamas},
    Route{"POST", "/api/generate", &Endpoints::ollama_generate, kNone, kOllamas},
    Route{"POST", "/api/embed", &Endpoints::ollama_embed, kNone, kOllamas},
    Route{"POST", "/api/embeddings", &Endpoints::ollama_embeddings, kNone, kOllamas},
    Route{"GET", "/api/version", &Endpoints::ollama_version, kNone, kOllamas},
    Route{"GET", "/api/tags", &Endpoints::ollama_tags, kNone, kOllamas},
    Route{"GET", "/api/ps", &Endpoints::ollama_ps, kNone, kOllamas},
    Route{"POST", "/api/show", &Endpoints::ollama_show, kNone, kOllamas},
    Route{"POST", "/api/pull", &Endpoints::ollama_pull, kNone, kOllamas},
    Route{"DELETE", "/api/delete", &Endpoints::ollama_delete, kNone, kOllamas},
    Route{"POST", "/api/copy", &Endpoints::ollama_copy, kNone, kOllamas},
    Route{"POST", "/api/create", &Endpoints::ollama_refuse, kNone, kOllamas},
    Route{"POST", "/api/push", &Endpoints::ollama_refuse, kNone, kOllamas},
    Route{"GET", "/v1/models", nullptr, Status::Models},
    Route{"GET", "/models", nullptr, Status::Models},
    Route{"GET", "/health", nullptr, Status::Health},
    Route{"GET", "/v1/health", nullptr, Status::Health},
    Route{"GET", "/metrics", nullptr, Status::Metrics},
    Route{"GET", "/slots", nullptr, Status::Slots, kLlama},
    Route{"GET", "/v1/slots", nullptr, Status::Slots, kLlama},
    Route{"GET", "/status", nullptr, Status::Requests},
    Route{"GET", "/", nullptr, Status::Root},
    Route{"GET", "/v1/responses/*/input_items", &Endpoints::list_response_input},
    Route{"GET", "/v1/responses/*", &Endpoints::retrieve_response},
    Route{"DELETE", "/v1/responses/*", &Endpoints::delete_response},
    Route{"GET", "/v1/files/*/content", &Endpoints::read_file_content},
    Route{"GET", "/v1/files/*", &Endpoints::retrieve_file},
    Route{"DELETE", "/v1/files/*", &Endpoints::delete_file},
    Route{"GET", "/v1/batches/*", &Endpoints::retrieve_batch},
    Route{"GET", "/v1/models/*", nullptr, Status::Model},
};

// Returns the name in `path`; nothing if the path does not match the pattern.
std::optional<std::string_view> match(std::string_view pattern, std::string_view path) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return pattern == path ? std::optional(std::string_view()) : std::nullopt;
  }
  const std::string_view begin = pattern.substr(0, star), end = pattern.substr(star + 1);
  if (path.size() <= begin.size() + end.size() || !path.starts_with(begin) ||
      !path.ends_with(end)) {
    return std::nullopt;
  }
  return path.substr(begin.size(), path.size() - begin.size() - end.size());
}

bool has_path(const Route& route, std::string_view path) {
  return match(route.path, path).has_value();
}

}  // namespace

const Route* find_route(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  const auto* const found = std::find_if(kRoutes.begin(), kRoutes.end(), [&](const Route& route) {
    return route.method == method && has_path(route, path);
  });
  return found == kRoutes.end() ? nullptr : found;
}

bool is_routed(std::string_view path) {
  return std::any_of(kRoutes.begin(), kRoutes.end(),
                     [&](const Route& route) { return has_path(route, path); });
}

std::string_view route_label(std::string_view path) {
  if (page::find(path) != nullptr && path != "/") return "/page";
  const auto* const found = std::find_if(kRoutes.begin(), kRoutes.end(),
                                         [&](const Route& route) { return has_path(route, path); });
  if (found == kRoutes.end()) return "other";
  const auto* const first = std::find_if(kRoutes.begin(), kRoutes.end(), [&](const Route& route) {
    return route.handler == found->handler && route.status == found->status;
  });
  return first->path;
}

std::string_view name_in_path(std::string_view path) {
  for (const Route& route : kRoutes) {
    const auto name = match(route.path, path);
    if (name && !name->empty()) return *name;
  }
  return {};
}

Dialect dialect_of(std::string_view path) {
  const auto* const found = std::find_if(kRoutes.begin(), kRoutes.end(),
                                         [&](const Route& route) { return has_path(route, path); });
  if (found != kRoutes.end()) return found->dialect;
  if (path.starts_with("/api/")) return Dialect::Ollama;
  return path.starts_with("/v1/messages") ? Dialect::Anthropic : Dialect::OpenAi;
}

}  // namespace pippin::server
