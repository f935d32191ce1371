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

std::string_view meaning_of(const FieldRule& rule) {
  return rule.meaning.empty() ? rule.name : rule.meaning;
}

// Returns the rule by which an endpoint honours a field, in any spelling; null if it does not.
const FieldRule* find_honoured(std::string_view name, FieldsOf endpoint) {
  const auto rules = field_rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const FieldRule& rule) {
    return (rule.endpoints & endpoint) != 0 && rule.use == Use::Honoured &&
           meaning_of(rule) == name;
  });
  return found == rules.end() ? nullptr : &*found;
}

Json joined(const Json& first, const Json& second) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : first.members()) {
    if (!second.contains(name)) json.member(name, value);
  }
  for (const auto& [name, value] : second.members()) json.member(name, value);
  return Json::parse(json.end_object().text(), "request");
}

}  // namespace

void RequestFields::add_defaults(const std::vector<FieldDefault>& defaults, FieldsOf endpoint) {
  for (const FieldDefault& one : defaults) {
    const FieldRule* const rule = find_honoured(one.name, endpoint);
    const bool is_said = std::any_of(one.others.begin(), one.others.end(),
                                     [&](const std::string& other) { return has(other); });
    if (rule == nullptr || is_said) continue;
    const auto [kept, is_new] = fields_.try_emplace(one.name, Field{one.value, one.name, rule});
    Json& value = kept->second.value;
    if (!is_new && value.is_object() && one.value.is_object()) value = joined(one.value, value);
  }
}

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
    const auto [kept, is_new] =
        fields_.try_emplace(std::string(meaning_of(*rule)), Field{value, spelling, rule});
    if (is_new) continue;
    // Of two different values, one is ignored.
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
