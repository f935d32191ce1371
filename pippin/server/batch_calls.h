// Requests of a batch as requests to the server: the endpoints that they may use, and their bodies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pippin/batch/request.h"
#include "pippin/http/message.h"

namespace pippin::server {

// The kind of model that answers at an endpoint.
enum class BatchModel : uint8_t { Writer, Scorer, Embedder };

struct BatchEndpoint {
  std::string_view url;
  BatchModel model;
};

std::span<const BatchEndpoint> batch_endpoints();
// Takes any spelling of an endpoint. Returns null for other URLs.
const BatchEndpoint* find_batch_endpoint(const std::string& url);
// Returns their URLs, with commas between them.
std::string batch_urls();

// Returns the request to the server. Without a seed of its own, a request that samples gets one
// that depends on its custom_id and `seed` only. Throws InvalidArgument for a URL without a path.
http::Request batch_call(const batch::Request& request, uint64_t seed);

}  // namespace pippin::server
