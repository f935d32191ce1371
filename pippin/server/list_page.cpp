#include "pippin/server/list_page.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "pippin/base/numbers/number.h"
#include "pippin/io/json.h"
#include "pippin/server/message_fields.h"

namespace pippin::server {
namespace {

size_t page_size(const http::Fields& query, const PageLimits& limits) {
  const std::string_view text = http::find_field(query, "limit");
  auto size = static_cast<int64_t>(limits.standard);
  const auto most = static_cast<int64_t>(limits.most);
  if (!text.empty() && (!parse_number(text, size) || size < 1 || size > most)) {
    refuse_at("limit", fmt::format("expected 1 to {}", most));
  }
  return static_cast<size_t>(size);
}

bool is_ascending(const http::Fields& query) {
  const std::string_view order = http::find_field(query, "order");
  if (!order.empty() && order != "asc" && order != "desc") {
    refuse_at("order", "expected asc or desc");
  }
  return order == "asc";
}

}  // namespace

std::string list_page(const std::vector<ListedObject>& objects, const http::Fields& query,
                      const PageLimits& limits) {
  const size_t size = page_size(query, limits);
  std::vector<const ListedObject*> ordered;
  ordered.reserve(objects.size());
  for (const ListedObject& object : objects) ordered.push_back(&object);
  if (!is_ascending(query)) std::reverse(ordered.begin(), ordered.end());
  auto begin = ordered.begin();
  if (const std::string_view after = http::find_field(query, "after"); !after.empty()) {
    begin = std::find_if(begin, ordered.end(),
                         [&](const ListedObject* object) { return object->id == after; });
    if (begin == ordered.end()) refuse_at("after", "is the id of no object of this list");
    ++begin;
  }
  const auto rest = static_cast<size_t>(ordered.end() - begin);
  const auto end = begin + static_cast<std::ptrdiff_t>(std::min(size, rest));
  JsonWriter json;
  json.begin_object().member("object", "list").key("data").begin_array();
  for (auto at = begin; at != end; ++at) json.raw((*at)->text);
  json.end_array();
  const auto write_id = [&](const char* key, auto at) {
    json.key(key);
    begin == end ? json.value(nullptr) : json.value((*at)->id);
  };
  write_id("first_id", begin);
  write_id("last_id", begin == end ? end : end - 1);
  return json.member("has_more", end != ordered.end()).end_object().text();
}

}  // namespace pippin::server
