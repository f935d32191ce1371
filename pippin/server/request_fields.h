// Fields of a request, by the names that readers use.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/server/field_rules.h"

namespace pippin::server {

// The value of a field for requests that have neither it nor one of its synonyms, `others`.
struct FieldDefault {
  std::string name;  // the name that readers use
  Json value;
  std::vector<std::string> others = {};
};

class RequestFields {
 public:
  // Keeps the fields that the rules honour at an endpoint; readers see no others. Throws
  // ApiError(400), with the client's name of the field, for a value that is not supported.
  RequestFields(const Json& body, FieldsOf endpoint);
  // Adds the members of an object in the request, which have their own rules; messages put `place`
  // before their names. Throws the same errors.
  void add(const Json& object, FieldsOf endpoint, const std::string& place = {});
  // Sets fields that the endpoint has and the request lacks. Objects in both are merged, member by
  // member.
  void add_defaults(const std::vector<FieldDefault>& defaults, FieldsOf endpoint);
  // Takes all members unchanged: for objects that are not requests of such an endpoint.
  RequestFields(const Json& object);  // NOLINT(google-explicit-constructor)

  // Returns nothing if the field is absent or null. Of several spellings, the one of the first rule
  // counts.
  std::optional<Json> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  // Returns the name that the client used.
  std::string spelling(std::string_view name) const;
  // Returns the fields of the body without a rule, and spellings whose value differs from the one
  // that counts.
  const std::vector<std::string>& ignored() const { return ignored_; }

 private:
  struct Field {
    Json value;
    std::string spelling;
    const FieldRule* rule;
  };
  std::optional<Json> whole_;  // nothing: `fields_` has everything
  std::map<std::string, Field, std::less<>> fields_;
  std::vector<std::string> ignored_;
};

}  // namespace pippin::server
