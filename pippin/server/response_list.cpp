#include "pippin/server/response_list.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/numbers/number.h"
#include "pippin/server/api_error.h"
#include "pippin/server/message_fields.h"

namespace pippin::server {
namespace {

constexpr size_t kMostItems = 100;

std::string id_of(const Json& item, const std::string& name, size_t index) {
  const auto id = item.find("id");
  if (id && id->is_string()) return std::string(id->as_string());
  return fmt::format("item_{}_{}", name, index);
}

// Writes text as a part: clients may send content as text, but expect parts.
void write_text_part(JsonWriter& json, bool is_output, std::string_view text) {
  json.begin_array().begin_object();
  json.member("type", is_output ? "output_text" : "input_text").member("text", text);
  if (is_output) {
    json.key("annotations").begin_array().end_array();
    json.key("logprobs").begin_array().end_array();
  }
  json.end_object().end_array();
}

void write_item(JsonWriter& json, const Json& item, const std::string& id) {
  const bool is_message = item.get_string_or("type", "message") == "message";
  const bool is_output = is_message && item.get_string_or("role", "") == "assistant";
  json.begin_object().member("id", id);
  if (!item.has("type")) json.member("type", "message");
  if (is_output && !item.has("status")) json.member("status", "completed");
  for (const auto& [key, value] : item.members()) {
    if (key == "id") continue;
    json.key(key);
    if (is_message && key == "content" && value.is_string()) {
      write_text_part(json, is_output, value.as_string());
    } else {
      json.value(value);
    }
  }
  json.end_object();
}

size_t limit_of(const http::Fields& query) {
  const std::string_view text = http::find_field(query, "limit");
  int64_t limit = 20;
  if (!text.empty() && (!parse_number(text, limit) || limit < 1 || limit > int64_t{kMostItems})) {
    refuse_at("limit", fmt::format("expected 1 to {}", kMostItems));
  }
  return static_cast<size_t>(limit);
}

}  // namespace

std::string list_input_items(const Json& items, const http::Fields& query,
                             const std::string& name) {
  const size_t limit = limit_of(query);
  const std::string_view order = http::find_field(query, "order");
  if (!order.empty() && order != "asc" && order != "desc") {
    refuse_at("order", "expected asc or desc");
  }
  std::vector<size_t> places(items.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  if (order != "asc") std::reverse(places.begin(), places.end());
  const std::string_view after = http::find_field(query, "after");
  auto begin = places.begin();
  if (!after.empty()) {
    begin = std::find_if(places.begin(), places.end(), [&](size_t place) {
      return id_of(items.at(place), name, place) == after;
    });
    if (begin == places.end()) refuse_at("after", "is the id of no item of this response");
    ++begin;
  }
  const auto rest = static_cast<size_t>(places.end() - begin);
  const auto end = begin + static_cast<std::ptrdiff_t>(std::min(limit, rest));
  JsonWriter json;
  json.begin_object().member("object", "list").key("data").begin_array();
  for (auto at = begin; at != end; ++at) {
    write_item(json, items.at(*at), id_of(items.at(*at), name, *at));
  }
  json.end_array();
  const auto write_id = [&](const char* key, auto at) {
    json.key(key);
    begin == end ? json.value(nullptr) : json.value(id_of(items.at(*at), name, *at));
  };
  write_id("first_id", begin);
  write_id("last_id", begin == end ? end : end - 1);
  return json.member("has_more", end != places.end()).end_object().text();
}

}  // namespace pippin::server
