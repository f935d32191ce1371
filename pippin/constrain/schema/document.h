// A JSON Schema document: its subschemas by location, and the targets of its references.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::constrain {

// A subschema in its dynamic scope: one location may have several meanings for $dynamicRef.
using SchemaId = uint32_t;

// The years in the drafts' names. A schema without $schema is read as the latest, with older
// spellings allowed.
enum class Draft : uint8_t { Draft4, Draft6, Draft7, Draft2019, Draft2020 };

struct Subschema {
  Json json;
  std::string pointer;  // from the root, as in "/properties/a"
  uint32_t resource;
  uint32_t scope;
};

class SchemaDocument {
 public:
  // Throws Unsupported for unknown drafts, InvalidArgument if `root` is not a schema. Never loads
  // other documents.
  explicit SchemaDocument(const Json& root);

  SchemaId root() const { return 0; }
  const Subschema& operator[](SchemaId id) const { return subschemas_[id]; }
  Draft draft(SchemaId id) const { return resources_[subschemas_[id].resource].draft; }
  // The subschema at a keyword of this one, or at a key or index of the keyword's value.
  SchemaId at(SchemaId id, std::string_view keyword);
  SchemaId at(SchemaId id, std::string_view keyword, std::string_view key);
  SchemaId at(SchemaId id, std::string_view keyword, size_t index);
  // The target of $ref, $dynamicRef or $recursiveRef.
  SchemaId reference(SchemaId from, std::string_view keyword);
  // Returns "#/properties/a/keyword", for messages.
  std::string where(SchemaId id, std::string_view keyword) const;

 private:
  struct Resource {
    std::string uri;
    std::string pointer;
    Draft draft;
    bool has_recursive_anchor = false;
    std::map<std::string, std::string, std::less<>> anchors, dynamic_anchors;  // pointers by name
  };

  void enter(const Json& json, const std::string& pointer, uint32_t resource);
  uint32_t add_resource(const Json& json, const std::string& pointer, const std::string& uri,
                        Draft draft);
  SchemaId intern(const Json& json, std::string pointer, uint32_t scope);
  uint32_t resource_of(std::string_view pointer) const;
  uint32_t extended(uint32_t scope, uint32_t resource);
  // Finds the location that a pointer names, relative to a resource's root.
  std::pair<Json, std::string> find(uint32_t resource, std::string_view pointer, SchemaId from,
                                    std::string_view keyword) const;

  Json root_;
  std::vector<Resource> resources_;
  std::map<std::string, uint32_t, std::less<>> by_uri_, by_pointer_;
  std::vector<std::vector<uint32_t>> scopes_;
  std::map<std::vector<uint32_t>, uint32_t> scope_ids_;
  std::vector<Subschema> subschemas_;
  std::map<std::pair<std::string, uint32_t>, SchemaId> ids_;
};

}  // namespace pippin::constrain
