// Which path is which endpoint, under all of its spellings.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/http/message.h"
#include "pippin/server/api_error.h"
#include "pippin/server/endpoints.h"

namespace pippin::server {

// Answered at once, by the thread of the server: from state that exists.
enum class Status : uint8_t { None, Models, Model, Health, Metrics, Slots, Requests, Root };

struct Route {
  using Handler = void (Endpoints::*)(const http::Request& request,
                                      const Endpoints::Replying& reply);
  std::string_view method, path;  // "*" in the path: a name, and at its end all that follows
  Handler handler = nullptr;      // by a thread that may take its time; null: `status`
  Status status = Status::None;
  Dialect dialect = Dialect::OpenAi;  // of its errors
};

// Null for a path or method without an endpoint; HEAD is taken as GET is.
const Route* find_route(std::string_view method, std::string_view path);
// Whether any method has the path.
bool is_routed(std::string_view path);

// The endpoint of a path by one of its spellings, "/page" for the page's files, else "other": there
// are as many labels as endpoints, whatever clients ask for.
std::string_view route_label(std::string_view path);

// The name at the "*" of a path that is routed; else empty.
std::string_view name_in_path(std::string_view path);

// The dialect of errors at a path.
Dialect dialect_of(std::string_view path);

}  // namespace pippin::server
