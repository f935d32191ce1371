// From keywords to facts: what holds of a value of which a literal holds, in as many branches as
// there are ways.
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

  // Of any value.
  Branch anything();
  // Throws Unsupported for keywords that cannot be honoured, InvalidArgument for wrong ones, both
  // with their place; LimitExceeded where there are too many branches.
  Branches with(const Branch& branch, const Literal& literal, bool exact = false);

  // Of a value that is asked for while another one is worked out.
  Branches of(const std::vector<Literal>& literals);
  // The constants that literals name.
  uint32_t constant(const Json& value);
  // The constants that such a value can be, if keywords list them.
  std::optional<std::vector<Literal>> constants(const std::vector<Literal>& literals);
  std::optional<std::vector<Literal>> constants(SchemaId schema);
  // A key of that name.
  RegexId key(std::string_view name);

 private:
  // A keyword of a subschema, as a handler sees it.
  struct Site {
    SchemaId schema;
    std::string_view keyword;
    Json value;
    bool negated;
    bool exact;  // each alternative has to be decided: somebody asks what was looked at
  };
  using Handler = Branches (Keywords::*)(const Branch&, const Site&);
  struct Entry {
    Handler handler;
    int order;  // the smaller ones first
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
  Branches on_reference(const Branch& branch, const Site& site);
  Branches on_type(const Branch& branch, const Site& site);
  Branches on_const(const Branch& branch, const Site& site);
  Branches on_enum(const Branch& branch, const Site& site);
  Branches on_length(const Branch& branch, const Site& site);
  Branches on_pattern(const Branch& branch, const Site& site);
  Branches on_format(const Branch& branch, const Site& site);
  Branches on_bound(const Branch& branch, const Site& site);
  Branches on_multiple(const Branch& branch, const Site& site);
  Branches on_all_of(const Branch& branch, const Site& site);
  Branches on_any_of(const Branch& branch, const Site& site);
  Branches on_one_of(const Branch& branch, const Site& site);
  Branches on_not(const Branch& branch, const Site& site);
  Branches on_if(const Branch& branch, const Site& site);
  Branches on_prefix_items(const Branch& branch, const Site& site);
  Branches on_items(const Branch& branch, const Site& site);
  Branches on_contains(const Branch& branch, const Site& site);
  Branches on_item_count(const Branch& branch, const Site& site);
  Branches on_unique_items(const Branch& branch, const Site& site);
  Branches on_unevaluated_items(const Branch& branch, const Site& site);
  Branches on_properties(const Branch& branch, const Site& site);
  Branches on_pattern_properties(const Branch& branch, const Site& site);
  Branches on_additional_properties(const Branch& branch, const Site& site);
  Branches on_property_names(const Branch& branch, const Site& site);
  Branches on_required(const Branch& branch, const Site& site);
  Branches on_property_count(const Branch& branch, const Site& site);
  Branches on_dependencies(const Branch& branch, const Site& site);
  Branches on_unevaluated_properties(const Branch& branch, const Site& site);

  // --- facts ---
  Literal schema(SchemaId id) const { return {Literal::Kind::Schema, false, id}; }
  Literal false_literal();  // which holds of nothing
  // Of values of these types something holds; of others nothing is said. Negated: the value is of
  // one of these types, and the opposite holds.
  template <typename Change>
  Branches of_type(const Branch& branch, const Site& site, uint8_t types, const Change& change);
  void limit_items(Branch& branch, uint64_t least, uint64_t most);
  void limit_properties(Branch& branch, uint64_t least, uint64_t most);
  void forbid_key(Branch& branch, RegexId key);
  void need_key(Branch& branch, RegexId keys, std::vector<Literal> literals);
  void add_name(Branch& branch, std::string_view name);
  RegexId pattern_of(SchemaId id, std::string_view keyword, std::string_view pattern);
  Branches rule_others(const Branch& branch, const Site& site, RegexId keys);
  RegexId declared_keys(SchemaId id);  // of properties and patternProperties
  Branches keep_possible(Branches branches);
  void count(const Branch& branch);  // the work of copying it

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
  std::set<std::pair<SchemaId, bool>> open_;  // that are being gone through
  int depth_ = 0;                             // of subschemas in one another, outer values' too
  std::map<std::string, RegexId, std::less<>> keys_;
  std::map<std::string, RegexId, std::less<>> patterns_;
  Spelling spelling() const { return options_.every_spelling ? Spelling::Any : Spelling::Plain; }

  std::optional<RegexId> any_number_, any_integer_, any_string_;
  uint64_t steps_ = 0;
};

}  // namespace pippin::constrain
