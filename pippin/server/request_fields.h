// The fields of a request, under the names that readers ask for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/server/field_rules.h"

namespace pippin::server {

// The value of a field for requests that have neither it nor one of `others`, which say the same.
struct FieldDefault {
  std::string name;  // as readers ask for it
  Json value;
  std::vector<std::string> others = {};
};

class RequestFields {
 public:
  // Those that the rules honour at an endpoint: readers see no others. Throws ApiError(400), with
  // the client's name for it, for a field that is not supported with its value.
  RequestFields(const Json& body, FieldsOf endpoint);
  // Adds the members of an object in the request, which have rules of their own; in messages their
  // names have `place` before them. Throws the same.
  void add(const Json& object, FieldsOf endpoint, const std::string& place = {});
  // Sets fields that the endpoint has and the request lacks. Objects of both are joined, member by
  // member.
  void add_defaults(const std::vector<FieldDefault>& defaults, FieldsOf endpoint);
  // All members as they are: of objects that are not requests of such an endpoint.
  RequestFields(const Json& object);  // NOLINT(google-explicit-constructor)

  // Nothing where the field is absent or null. Of several spellings that of the first rule counts.
  std::optional<Json> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  // As the client wrote it.
  std::string spelling(std::string_view name) const;
  // Fields of the body without a rule, or with another value than a spelling that counts.
  const std::vector<std::string>& ignored() const { return ignored_; }

 private:
  struct Field {
    Json value;
    std::string spelling;
    const FieldRule* rule;
  };
  std::optional<Json> whole_;  // nothing: `fields_` says all
  std::map<std::string, Field, std::less<>> fields_;
  std::vector<std::string> ignored_;
};

}  // namespace pippin::server
