// Lists that clients read page by page, in OpenAI's form.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pippin/http/message.h"

namespace pippin::server {

struct ListedObject {
  std::string id, text;  // JSON
};

struct PageLimits {
  size_t standard = 20, most = 100;  // objects in a page
};

// Returns the page that `limit`, `after` and `order` of the query ask for. The objects are in the
// order of their creation; without `order`, the newest ones come first. Throws ApiError(400).
std::string list_page(const std::vector<ListedObject>& objects, const http::Fields& query,
                      const PageLimits& limits);

}  // namespace pippin::server
