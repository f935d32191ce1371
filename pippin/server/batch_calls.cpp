#include "pippin/server/batch_calls.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/server/routes.h"

namespace pippin::server {
namespace {

constexpr std::array kBatchEndpoints = {
    BatchEndpoint{"/v1/chat/completions", BatchModel::Writer},
    BatchEndpoint{"/v1/completions", BatchModel::Writer},
    BatchEndpoint{"/v1/responses", BatchModel::Writer},
    BatchEndpoint{"/v1/embeddings", BatchModel::Embedder},
    BatchEndpoint{"/v1/rerank", BatchModel::Scorer},
    BatchEndpoint{"/v1/score", BatchModel::Scorer},
};

// Thirteen hexadecimal digits are integers of JSON in every language.
uint64_t seed_of(const std::string& custom_id, uint64_t seed) {
  constexpr size_t kDigits = 13;
  const std::string digits =
      batch::request_id(fmt::format("{}", seed), custom_id).substr(0, kDigits);
  uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

std::string with_seed(const batch::Request& request, uint64_t seed) {
  const Json body = Json::parse(request.body, "body");
  for (const char* name : {"seed", "random_seed"}) {
    const auto given = body.find(name);
    if (given && !given->is_null() && !given->is_integer(-1, -1)) return request.body;
  }
  // The last of equal keys counts.
  return fmt::format("{}{}\"seed\":{}}}", request.body.substr(0, request.body.size() - 1),
                     body.size() > 0 ? "," : "", seed_of(request.custom_id, seed));
}

}  // namespace

std::span<const BatchEndpoint> batch_endpoints() {
  return kBatchEndpoints;
}

const BatchEndpoint* find_batch_endpoint(const std::string& url) {
  if (find_route("POST", url) == nullptr) return nullptr;
  const std::string_view label = route_label(url);
  const auto* const found =
      std::find_if(kBatchEndpoints.begin(), kBatchEndpoints.end(),
                   [&](const BatchEndpoint& one) { return one.url == label; });
  return found == kBatchEndpoints.end() ? nullptr : found;
}

std::string batch_urls() {
  std::vector<std::string_view> urls;
  urls.reserve(kBatchEndpoints.size());
  for (const BatchEndpoint& one : kBatchEndpoints) urls.push_back(one.url);
  return fmt::format("{}", fmt::join(urls, ", "));
}

http::Request batch_call(const batch::Request& request, uint64_t seed) {
  http::Request call;
  if (!http::split_target(request.url, call)) {
    fail(ErrorCode::InvalidArgument, "{}: no path of a request", request.url);
  }
  call.method = "POST";
  const BatchEndpoint* const endpoint = find_batch_endpoint(request.url);
  const bool samples = endpoint != nullptr && endpoint->model == BatchModel::Writer;
  call.body = samples ? with_seed(request, seed) : request.body;
  return call;
}

}  // namespace pippin::server
