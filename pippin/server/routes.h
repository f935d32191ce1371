// The endpoint of each path, under all of its spellings.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/http/message.h"
#include "pippin/server/api_error.h"
#include "pippin/server/endpoints.h"

namespace pippin::server {

// Endpoints that the server's own thread answers at once, from existing state.
enum class Status : uint8_t { None, Models, Model, Health, Metrics, Slots, Requests, Root };

struct Route {
  using Handler = void (Endpoints::*)(const http::Request& request,
                                      const Endpoints::Replying& reply);
  std::string_view method, path;  // "*" in the path: a name; at its end: the whole rest
  Handler handler = nullptr;      // runs in a worker thread; null: `status`
  Status status = Status::None;
  Dialect dialect = Dialect::OpenAi;  // of its errors
};

// Returns null for a path or method without an endpoint; HEAD is treated as GET.
const Route* find_route(std::string_view method, std::string_view path);
// Returns whether the path has any method.
bool is_routed(std::string_view path);

// Returns the endpoint of a path by one of its spellings, "/page" for the page's files, else
// "other": requests cannot make more labels than there are endpoints.
std::string_view route_label(std::string_view path);

// Returns the name at the "*" of a routed path; else empty.
std::string_view name_in_path(std::string_view path);

// Returns the dialect of errors at a path.
Dialect dialect_of(std::string_view path);

}  // namespace pippin::server
