// The input items of a stored response, in pages.
#pragma once

#include <string>

#include "pippin/http/message.h"
#include "pippin/io/json.h"

namespace pippin::server {

// `query` has `limit` (1 to 100; default 20), `order` (asc or desc; default desc, the last item
// first) and `after`, an id. Items without an id get one: `name` and their position. Content is a
// list of parts, even if it was sent as text. Throws ApiError(400).
std::string list_input_items(const Json& items, const http::Fields& query, const std::string& name);

}  // namespace pippin::server
