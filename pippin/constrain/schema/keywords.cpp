#include "pippin/constrain/schema/keywords.h"

#include <algorithm>
#include <iterator>

#include "pippin/base/error.h"
#include "pippin/constrain/patterns/json_text.h"
#include "pippin/constrain/patterns/numbers.h"
#include "pippin/constrain/schema/algebra.h"

namespace pippin::constrain {

namespace {

void append(Branches& all, Branches more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

const std::map<std::string_view, Keywords::Entry>& Keywords::table() {
  using K = Keywords;
  static const std::map<std::string_view, Entry> entries{
      {"type", {&K::on_type, 0}},
      {"const", {&K::on_const, 0}},
      {"enum", {&K::on_enum, 0}},
      {"minLength", {&K::on_length, 1}},
      {"maxLength", {&K::on_length, 1}},
      {"pattern", {&K::on_pattern, 1}},
      {"format", {&K::on_format, 1}},
      {"minimum", {&K::on_bound, 1}},
      {"maximum", {&K::on_bound, 1}},
      {"exclusiveMinimum", {&K::on_bound, 1}},
      {"exclusiveMaximum", {&K::on_bound, 1}},
      {"multipleOf", {&K::on_multiple, 1}},
      {"prefixItems", {&K::on_prefix_items, 1}},
      {"items", {&K::on_items, 1}},
      {"additionalItems", {&K::on_items, 1}},
      {"contains", {&K::on_contains, 1}},
      {"minItems", {&K::on_item_count, 1}},
      {"maxItems", {&K::on_item_count, 1}},
      {"uniqueItems", {&K::on_unique_items, 1}},
      {"properties", {&K::on_properties, 1}},
      {"patternProperties", {&K::on_pattern_properties, 1}},
      {"additionalProperties", {&K::on_additional_properties, 1}},
      {"propertyNames", {&K::on_property_names, 1}},
      {"required", {&K::on_required, 1}},
      {"minProperties", {&K::on_property_count, 1}},
      {"maxProperties", {&K::on_property_count, 1}},
      {"$ref", {&K::on_reference, 2}},
      {"$dynamicRef", {&K::on_reference, 2}},
      {"$recursiveRef", {&K::on_reference, 2}},
      {"allOf", {&K::on_all_of, 2}},
      {"not", {&K::on_not, 3}},
      {"if", {&K::on_if, 3}},
      {"dependentRequired", {&K::on_dependencies, 3}},
      {"dependentSchemas", {&K::on_dependencies, 3}},
      {"dependencies", {&K::on_dependencies, 3}},
      {"anyOf", {&K::on_any_of, 4}},
      {"oneOf", {&K::on_one_of, 4}},
      {"unevaluatedItems", {&K::on_unevaluated_items, 9}},
      {"unevaluatedProperties", {&K::on_unevaluated_properties, 9}},
  };
  return entries;
}

Keywords::Keywords(RegexPool& pool, SchemaDocument& document, Algebra& algebra,
                   const SchemaOptions& options)
    : pool_(pool), document_(document), algebra_(algebra), options_(options) {}

Branch Keywords::anything() {
  if (!any_number_.has_value()) {
    any_number_ = json_number(pool_, spelling());
    any_string_ = json_string_content(pool_);
  }
  Branch branch;
  branch.number = *any_number_;
  branch.string = branch.keys = *any_string_;
  return branch;
}

void Keywords::count(const Branch& branch) {
  pool_.work().count(4 + branch.item_rules.size() + branch.item_needs.size() +
                     branch.key_rules.size() + branch.key_needs.size() + branch.names.size() +
                     branch.seen_if.size());
}

Branches Keywords::keep_possible(Branches branches) {
  std::erase_if(branches, [](const Branch& branch) { return branch.types == 0; });
  if (branches.size() > options_.max_branches) {
    fail(ErrorCode::LimitExceeded, "the schema has more than {} alternatives at one place",
         options_.max_branches);
  }
  return branches;
}

Branches Keywords::with(const Branch& branch, const Literal& literal, bool exact) {
  if (++steps_ > options_.max_steps) {
    fail(ErrorCode::LimitExceeded, "the schema takes more than {} steps to work out",
         options_.max_steps);
  }
  count(branch);
  switch (literal.kind) {
    case Literal::Kind::Schema:
      return keep_possible(with_schema(branch, literal.id, literal.negated, exact));
    case Literal::Kind::Constant:
      return keep_possible(with_constant(branch, literal.id, literal.negated));
    case Literal::Kind::Either:
      break;
  }
  const std::vector<Literal> alternatives = algebra_.alternatives(literal.id);
  if (literal.negated) {
    std::vector<Literal> none;
    none.reserve(alternatives.size());
    for (const Literal& alternative : alternatives) none.push_back(!alternative);
    return with_each({branch}, none, exact);
  }
  Branches result;
  for (const Literal& alternative : alternatives) append(result, with(branch, alternative, exact));
  return keep_possible(std::move(result));
}

Branches Keywords::with_each(Branches branches, const std::vector<Literal>& literals, bool exact) {
  for (const Literal& literal : literals) {
    Branches next;
    for (const Branch& branch : branches) append(next, with(branch, literal, exact));
    branches = keep_possible(std::move(next));
  }
  return branches;
}

// A subschema in progress. References may form chains of any length.
class Keywords::Open {
 public:
  Open(Keywords& keywords, SchemaId id, bool negated) : keywords_(keywords), entry_(id, negated) {
    constexpr int kMostDepth = 300;
    if (keywords_.depth_ >= kMostDepth) {
      fail(ErrorCode::LimitExceeded, "{}: subschemas refer to each other more than {} deep",
           keywords_.document_.where(id, ""), kMostDepth);
    }
    if (!keywords_.open_.insert(entry_).second) {
      fail(ErrorCode::InvalidArgument, "{}: the schema refers to itself without an end",
           keywords_.document_.where(id, ""));
    }
    ++keywords_.depth_;
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  ~Open() {
    --keywords_.depth_;
    keywords_.open_.erase(entry_);
  }

 private:
  Keywords& keywords_;
  const std::pair<SchemaId, bool> entry_;
};

Branches Keywords::with_schema(const Branch& branch, SchemaId id, bool negated, bool exact) {
  const Json json = document_[id].json;
  if (json.is_bool()) return json.as_bool() == negated ? Branches() : Branches{branch};
  const Open open(*this, id, negated);
  pool_.work().count(1 + document_[id].pointer.size() / 16);

  // Evaluations by outer keywords do not count for this schema.
  Branch inner = branch;
  inner.seen_keys = RegexPool::kNothing;
  inner.seen_items = 0;
  inner.seen_if.clear();
  Branches result = negated ? without_keywords(inner, id, exact) : with_keywords(inner, id, exact);
  for (Branch& one : result) {
    if (negated) {
      one.seen_keys = branch.seen_keys;
      one.seen_items = branch.seen_items;
      one.seen_if = branch.seen_if;
    } else {
      one.seen_keys = pool_.any_of(one.seen_keys, branch.seen_keys);
      one.seen_items = std::max(one.seen_items, branch.seen_items);
      one.seen_if.insert(one.seen_if.end(), branch.seen_if.begin(), branch.seen_if.end());
    }
  }
  return result;
}

std::vector<Keywords::Site> Keywords::sites(SchemaId id, bool negated, bool exact) {
  const Json json = document_[id].json;
  const bool only_reference = document_.draft(id) <= Draft::Draft7 && json.has("$ref");
  std::vector<std::pair<int, Site>> found;
  for (const auto& [keyword, value] : json.members()) {
    const auto it = table().find(keyword);
    if (it == table().end() || (only_reference && keyword != "$ref")) continue;
    found.push_back({it->second.order, {id, it->first, value, negated, exact}});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Site> result;
  result.reserve(found.size());
  for (auto& [order, site] : found) result.push_back(std::move(site));
  return result;
}

Branches Keywords::handle(const Branch& branch, const Site& site) {
  count(branch);
  return (this->*table().at(site.keyword).handler)(branch, site);
}

Branches Keywords::with_keywords(const Branch& branch, SchemaId id, bool exact) {
  const Json json = document_[id].json;
  exact |= json.contains("unevaluatedItems") || json.contains("unevaluatedProperties");
  Branches branches{branch};
  for (const Site& site : sites(id, false, exact)) {
    Branches next;
    for (const Branch& one : branches) append(next, handle(one, site));
    branches = keep_possible(std::move(next));
  }
  return branches;
}

Branches Keywords::without_keywords(const Branch& branch, SchemaId id, bool exact) {
  Branches result;
  const std::vector<Site> all = sites(id, true, exact);
  for (const Site& site : all) {
    Branches before{branch};
    if (site.keyword.starts_with("unevaluated")) {
      // It must fail while all other keywords hold; the case that another fails is handled there.
      for (const Site& other : sites(id, false, true)) {
        if (other.keyword.starts_with("unevaluated")) continue;
        Branches next;
        for (const Branch& one : before) append(next, handle(one, other));
        before = keep_possible(std::move(next));
      }
    }
    for (const Branch& one : before) append(result, handle(one, site));
  }
  return keep_possible(std::move(result));
}

Branches Keywords::on_reference(const Branch& branch, const Site& site) {
  if (site.value.is_string()) pool_.work().count(1 + site.value.as_string().size() / 16);
  Literal target = schema(document_.reference(site.schema, site.keyword));
  if (site.negated) target = !target;
  return with(branch, target, site.exact);
}

Branches Keywords::on_all_of(const Branch& branch, const Site& site) {
  std::vector<Literal> literals;
  for (const SchemaId id : list(site)) literals.push_back(schema(id));
  if (!site.negated) return with_each({branch}, literals, site.exact);
  Branches result;
  for (const Literal& literal : literals) append(result, with(branch, !literal));
  return keep_possible(std::move(result));
}

Branches Keywords::on_any_of(const Branch& branch, const Site& site) {
  std::vector<Literal> literals, none;
  for (const SchemaId id : list(site)) {
    literals.push_back(schema(id));
    none.push_back(!schema(id));
  }
  if (site.negated) return with_each({branch}, none, false);
  Branches result;
  if (!site.exact) {
    for (const Literal& literal : literals) append(result, with(branch, literal));
    return keep_possible(std::move(result));
  }
  // In each result, literal i is the first that holds, and each later one is decided.
  Branches undecided{branch};
  for (size_t i = 0; i < literals.size(); ++i) {
    Branches holding;
    for (const Branch& one : undecided) append(holding, with(one, literals[i], true));
    for (size_t j = i + 1; j < literals.size(); ++j) {
      Branches next;
      for (const Branch& one : holding) {
        append(next, with(one, literals[j], true));
        append(next, with(one, none[j]));
      }
      holding = keep_possible(std::move(next));
    }
    append(result, std::move(holding));
    undecided = with_each(std::move(undecided), {none[i]}, false);
  }
  return keep_possible(std::move(result));
}

Branches Keywords::on_one_of(const Branch& branch, const Site& site) {
  std::vector<Literal> literals, none;
  for (const SchemaId id : list(site)) {
    literals.push_back(schema(id));
    none.push_back(!schema(id));
  }
  Branches result;
  if (site.negated) {
    result = with_each({branch}, none, false);
    for (size_t i = 0; i < literals.size(); ++i) {
      for (size_t j = i + 1; j < literals.size(); ++j)
        append(result, with_each({branch}, {literals[i], literals[j]}, false));
    }
    return keep_possible(std::move(result));
  }
  for (size_t i = 0; i < literals.size(); ++i) {
    std::vector<Literal> others;
    for (size_t j = 0; j < literals.size(); ++j) {
      if (j != i && !algebra_.exclude_each_other(literals[i], literals[j]))
        others.push_back(none[j]);
    }
    append(result, with_each(with(branch, literals[i], site.exact), others, false));
  }
  return keep_possible(std::move(result));
}

Branches Keywords::on_not(const Branch& branch, const Site& site) {
  const Literal inner = schema(document_.at(site.schema, site.keyword));
  Branches result = with(branch, site.negated ? inner : !inner);
  // A "not" evaluates nothing.
  for (Branch& one : result) {
    one.seen_keys = branch.seen_keys;
    one.seen_items = branch.seen_items;
    one.seen_if = branch.seen_if;
  }
  return result;
}

Branches Keywords::on_if(const Branch& branch, const Site& site) {
  const Json json = document_[site.schema].json;
  const bool has_then = json.contains("then"), has_else = json.contains("else");
  if (!has_then && !has_else && !site.exact) return site.negated ? Branches() : Branches{branch};
  const Literal condition = schema(document_.at(site.schema, "if"));
  Branches result;
  const auto add = [&](const Literal& test, bool has, const char* keyword) {
    if (!has && site.negated) return;
    Branches holding = with(branch, test, site.exact);
    if (has) {
      const Literal consequence = schema(document_.at(site.schema, keyword));
      holding =
          with_each(std::move(holding), {site.negated ? !consequence : consequence}, site.exact);
    }
    append(result, std::move(holding));
  };
  add(condition, has_then, "then");
  add(!condition, has_else, "else");
  return keep_possible(std::move(result));
}

// --- reading ---

void Keywords::invalid(const Site& site, std::string_view what) const {
  fail(ErrorCode::InvalidArgument, "{}: {}", document_.where(site.schema, site.keyword), what);
}

void Keywords::unsupported(const Site& site, std::string_view what) const {
  fail(ErrorCode::Unsupported, "{}: {} is not supported",
       document_.where(site.schema, site.keyword), what);
}

Decimal Keywords::number(const Site& site, const Json& value) const {
  if (!value.is_number()) invalid(site, "expected a number");
  const std::optional<Decimal> number = Decimal::parse(value.dump());
  if (!number.has_value()) invalid(site, "expected a number that can be written out");
  return *number;
}

uint64_t Keywords::count(const Site& site) const {
  const Decimal value = number(site, site.value);
  if (value.is_negative() || !value.is_integer())
    invalid(site, "expected an integer that is not negative");
  const std::string digits = value.integer_digits();
  return digits.size() > 18 ? uint64_t{1} << 60 : std::stoull(digits);
}

std::vector<SchemaId> Keywords::list(const Site& site) {
  if (!site.value.is_array()) invalid(site, "expected a list of schemas");
  std::vector<SchemaId> ids;
  for (size_t i = 0; i < site.value.size(); ++i)
    ids.push_back(document_.at(site.schema, site.keyword, i));
  return ids;
}

std::vector<std::string_view> Keywords::names(const Site& site, const Json& value) const {
  if (!value.is_array()) invalid(site, "expected a list of names");
  std::vector<std::string_view> names;
  for (const Json& name : value.elements()) {
    if (!name.is_string()) invalid(site, "expected a list of names");
    names.push_back(name.as_string());
  }
  return names;
}

}  // namespace pippin::constrain
