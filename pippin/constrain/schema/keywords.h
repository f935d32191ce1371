// Translates keywords to facts: what a literal says about a value, with one branch for each way to
// satisfy it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/constrain/patterns/decimal.h"
#include "pippin/constrain/patterns/numbers.h"
#include "pippin/constrain/schema/branch.h"
#include "pippin/constrain/schema/document.h"
#include "pippin/constrain/schema/schema.h"

namespace pippin::constrain {

class Algebra;

class Keywords {
 public:
  Keywords(RegexPool& pool, SchemaDocument& document, Algebra& algebra,
           const SchemaOptions& options);

  // Any value.
  Branch anything();
  // Throws Unsupported for keywords that cannot be enforced, InvalidArgument for invalid ones, both
  // with their location; LimitExceeded if there are too many branches.
  Branches with(const Branch& branch, const Literal& literal, bool exact = false);

  // The branches of an inner value, while another value is in progress.
  Branches of(const std::vector<Literal>& literals);
  // Interns a constant for literals.
  uint32_t constant(const Json& value);
  // Returns the constants that such a value can be, if keywords list them.
  std::optional<std::vector<Literal>> constants(const std::vector<Literal>& literals);
  std::optional<std::vector<Literal>> constants(SchemaId schema);
  // The key with that name.
  RegexId key(std::string_view name);

 private:
  // A keyword of a subschema, as passed to a handler.
  struct Site {
    SchemaId schema;
    std::string_view keyword;
    Json value;
    bool negated;
    bool exact;  // each alternative must be decided, because unevaluated keywords depend on it
  };
  using Handler = Branches(const Branch& branch, const Site& site);
  struct Entry {
    Handler Keywords::*handler;
    int order;  // lowest first
  };
  static const std::map<std::string_view, Entry>& table();

  class Open;
  Branches with_schema(const Branch& branch, SchemaId id, bool negated, bool exact);
  Branches with_keywords(const Branch& branch, SchemaId id, bool exact);
  Branches without_keywords(const Branch& branch, SchemaId id, bool exact);
  std::vector<Site> sites(SchemaId id, bool negated, bool exact);
  Branches handle(const Branch& branch, const Site& site);
  Branches with_constant(const Branch& branch, uint32_t constant, bool negated);
  Branches with_each(Branches branches, const std::vector<Literal>& literals, bool exact);

  // --- handlers ---
  Handler on_reference, on_type, on_const, on_enum, on_length, on_pattern, on_format, on_bound,
      on_multiple, on_all_of, on_any_of, on_one_of, on_not, on_if, on_prefix_items, on_items,
      on_contains, on_item_count, on_unique_items, on_unevaluated_items, on_properties,
      on_pattern_properties, on_additional_properties, on_property_names, on_required,
      on_property_count, on_dependencies, on_unevaluated_properties;

  // --- facts ---
  Literal schema(SchemaId id) const { return {Literal::Kind::Schema, false, id}; }
  Literal false_literal();  // holds for no value
  // Applies a fact to values of these types and leaves others unrestricted. Negated: the value has
  // one of these types, and the opposite of the fact holds.
  template <typename Change>
  Branches of_type(const Branch& branch, const Site& site, uint8_t types, const Change& change);
  void limit_items(Branch& branch, uint64_t least, uint64_t most);
  void limit_properties(Branch& branch, uint64_t least, uint64_t most);
  void forbid_key(Branch& branch, RegexId key);
  void need_key(Branch& branch, RegexId keys, std::vector<Literal> literals);
  void add_name(Branch& branch, std::string_view name);
  RegexId pattern_of(SchemaId id, std::string_view keyword, std::string_view pattern);
  Branches rule_others(const Branch& branch, const Site& site, RegexId keys);
  RegexId declared_keys(SchemaId id);  // in properties and patternProperties
  Branches keep_possible(Branches branches);
  void count(const Branch& branch);  // counts the work of a copy

  // --- reading ---
  [[noreturn]] void invalid(const Site& site, std::string_view what) const;
  [[noreturn]] void unsupported(const Site& site, std::string_view what) const;
  uint64_t count(const Site& site) const;
  Decimal number(const Site& site, const Json& value) const;
  std::vector<SchemaId> list(const Site& site);
  std::vector<std::string_view> names(const Site& site, const Json& value) const;

  RegexPool& pool_;
  SchemaDocument& document_;
  Algebra& algebra_;
  const SchemaOptions& options_;
  std::vector<Json> constants_;
  std::map<std::string, uint32_t> constant_ids_;
  std::set<std::pair<SchemaId, bool>> open_;  // in progress
  int depth_ = 0;                             // nesting depth of subschemas, including outer values
  std::map<std::string, RegexId, std::less<>> keys_;
  std::map<std::string, RegexId, std::less<>> patterns_;
  Spelling spelling() const { return options_.every_spelling ? Spelling::Any : Spelling::Plain; }

  std::optional<RegexId> any_number_, any_integer_, any_string_;
  uint64_t steps_ = 0;
};

}  // namespace pippin::constrain
