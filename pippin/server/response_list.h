// The input items of a stored response, a page at a time.
#pragma once

#include <string>

#include "pippin/http/message.h"
#include "pippin/io/json.h"

namespace pippin::server {

// `query` has `limit` (1 to 100; 20), `order` (asc, desc; the last item first) and `after`, an id.
// Items that came without an id get one: their place after `name`. Content is a list of parts, also
// where it came as a text. Throws ApiError(400).
std::string list_input_items(const Json& items, const http::Fields& query, const std::string& name);

}  // namespace pippin::server
