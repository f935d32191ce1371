#include "pippin/server/request_fields.h"

#include <algorithm>
#include <utility>

#include "pippin/server/api_error.h"

namespace pippin::server {
namespace {

bool is_same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.as_float() == b.as_float();
  return a.dump() == b.dump();
}

bool is_one_of(const Json& value, std::string_view list) {
  const auto values = Json::parse(list, "values").elements();
  return std::any_of(values.begin(), values.end(),
                     [&](const Json& one) { return is_same(one, value); });
}

}  // namespace

RequestFields::RequestFields(const Json& object) : whole_(object) {}

RequestFields::RequestFields(const Json& body, FieldsOf endpoint) {
  add(body, endpoint);
}

void RequestFields::add(const Json& object, FieldsOf endpoint, const std::string& place) {
  for (const auto& [name, value] : object.members()) {
    const std::string spelling = place + std::string(name);
    const FieldRule* const rule = find_rule(name, endpoint);
    if (rule == nullptr) {
      ignored_.push_back(spelling);
      continue;
    }
    if (rule->use == Use::Ignored || value.is_null()) continue;
    if (rule->use == Use::Only) {
      if (is_one_of(value, rule->meaning)) continue;
      std::string message = spelling + " is not supported";
      if (!rule->note.empty()) message.append(": ").append(rule->note);
      throw ApiError(400, message, spelling);
    }
    const std::string_view meant = rule->meaning.empty() ? name : rule->meaning;
    const auto [kept, is_new] =
        fields_.try_emplace(std::string(meant), Field{value, spelling, rule});
    if (is_new) continue;
    // Of two values one is ignored.
    Field other{value, spelling, rule};
    if (rule < kept->second.rule) std::swap(other, kept->second);
    if (!is_same(other.value, kept->second.value)) ignored_.push_back(other.spelling);
  }
}

std::optional<Json> RequestFields::find(std::string_view name) const {
  if (whole_) return whole_->find(name);
  const auto found = fields_.find(name);
  return found == fields_.end() ? std::nullopt : std::optional(found->second.value);
}

std::string RequestFields::spelling(std::string_view name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? std::string(name) : found->second.spelling;
}

}  // namespace pippin::server
