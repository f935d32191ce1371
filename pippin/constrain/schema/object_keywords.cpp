// Keywords for objects.
#include <algorithm>
#include <array>
#include <iterator>

#include "pippin/base/numbers/ranges.h"
#include "pippin/constrain/patterns/json_text.h"
#include "pippin/constrain/patterns/pattern.h"
#include "pippin/constrain/schema/algebra.h"
#include "pippin/constrain/schema/keywords.h"

namespace pippin::constrain {

namespace {

Branch object_of(const Branch& branch) {
  Branch result = branch;
  result.types &= ObjectBit;
  return result;
}

}  // namespace

RegexId Keywords::key(std::string_view name) {
  if (const auto it = keys_.find(name); it != keys_.end()) return it->second;
  return keys_.emplace(name, json_string_content(pool_, name)).first->second;
}

// For keys and strings.
RegexId Keywords::pattern_of(SchemaId id, std::string_view keyword, std::string_view pattern) {
  if (const auto it = patterns_.find(pattern); it != patterns_.end()) return it->second;
  const RegexId made =
      search_pattern(pool_, pattern, Writing::JsonString, document_.where(id, keyword));
  return patterns_.emplace(pattern, made).first->second;
}

void Keywords::add_name(Branch& branch, std::string_view name) {
  pool_.work().count(1 + branch.names.size() / 8);
  if (!ranges::contains(branch.names, name)) branch.names.emplace_back(name);
}

void Keywords::need_key(Branch& branch, RegexId keys, std::vector<Literal> literals) {
  branch.key_needs.push_back({keys, std::move(literals)});
}

void Keywords::forbid_key(Branch& branch, RegexId key) {
  branch.key_rules.push_back({key, false_literal()});
}

void Keywords::limit_properties(Branch& branch, uint64_t least, uint64_t most) {
  branch.least_properties = std::max(branch.least_properties, least);
  branch.most_properties = std::min(branch.most_properties, most);
  if (branch.least_properties > branch.most_properties)
    branch.types &= static_cast<uint8_t>(~ObjectBit);
}

Branches Keywords::on_properties(const Branch& branch, const Site& site) {
  if (!site.value.is_object()) invalid(site, "expected an object of schemas");
  Branches result;
  if (!site.negated) result.push_back(branch);
  std::vector<RegexId> keys;
  for (const auto& [name, inner] : site.value.members()) {
    const Literal value = schema(document_.at(site.schema, site.keyword, name));
    keys.push_back(key(name));
    if (site.negated) {
      result.push_back(object_of(branch));
      add_name(result.back(), name);
      need_key(result.back(), keys.back(), {!value});
    } else {
      add_name(result.back(), name);
      result.back().key_rules.push_back({keys.back(), value});
    }
  }
  if (!site.negated) {
    keys.push_back(result.back().seen_keys);
    if (site.exact) result.back().seen_keys = pool_.any_of(keys);
  }
  return result;
}

Branches Keywords::on_pattern_properties(const Branch& branch, const Site& site) {
  if (!site.value.is_object()) invalid(site, "expected an object of schemas");
  Branches result;
  if (!site.negated) result.push_back(branch);
  for (const auto& [pattern, inner] : site.value.members()) {
    const Literal value = schema(document_.at(site.schema, site.keyword, pattern));
    const RegexId keys = pattern_of(site.schema, site.keyword, pattern);
    if (site.negated) {
      result.push_back(object_of(branch));
      need_key(result.back(), keys, {!value});
    } else {
      result.back().key_rules.push_back({keys, value});
      if (site.exact) result.back().seen_keys = pool_.any_of(result.back().seen_keys, keys);
    }
  }
  return result;
}

RegexId Keywords::declared_keys(SchemaId id) {
  const Json json = document_[id].json;
  std::vector<RegexId> keys;
  if (json.has("properties") && json.at("properties").is_object()) {
    for (const auto& [name, inner] : json.at("properties").members()) keys.push_back(key(name));
  }
  if (json.has("patternProperties") && json.at("patternProperties").is_object()) {
    for (const auto& [pattern, inner] : json.at("patternProperties").members()) {
      keys.push_back(pattern_of(id, "patternProperties", pattern));
    }
  }
  return pool_.any_of(keys);
}

Branches Keywords::on_additional_properties(const Branch& branch, const Site& site) {
  return rule_others(branch, site, declared_keys(site.schema));
}

// Applies the keyword's schema to all properties except those in `keys`.
Branches Keywords::rule_others(const Branch& branch, const Site& site, RegexId keys) {
  const Literal value = schema(document_.at(site.schema, site.keyword));
  const RegexId others = pool_.minus(*any_string_, keys);
  if (site.negated) {
    Branch result = object_of(branch);
    need_key(result, others, {!value});
    return {std::move(result)};
  }
  Branch result = branch;
  result.key_rules.push_back({others, value});
  result.seen_keys = *any_string_;
  return {std::move(result)};
}

Branches Keywords::on_property_names(const Branch& branch, const Site& site) {
  const RegexId names =
      algebra_.form(algebra_.value(schema(document_.at(site.schema, site.keyword)))).string;
  if (site.negated) {
    Branch result = object_of(branch);
    need_key(result, pool_.minus(*any_string_, names), {});
    return {std::move(result)};
  }
  Branch result = branch;
  result.keys = pool_.all_of(result.keys, names);
  return {std::move(result)};
}

Branches Keywords::on_required(const Branch& branch, const Site& site) {
  // Draft 3's flag is not a list.
  Branches result;
  if (!site.negated) result.push_back(branch);
  for (const std::string_view name : names(site, site.value)) {
    if (site.negated) {
      result.push_back(object_of(branch));
      add_name(result.back(), name);
      forbid_key(result.back(), key(name));
    } else {
      add_name(result.back(), name);
      need_key(result.back(), key(name), {});
    }
  }
  return result;
}

Branches Keywords::on_property_count(const Branch& branch, const Site& site) {
  const uint64_t properties = count(site);
  const bool is_least = site.keyword == "minProperties";
  if (is_least && site.negated && properties == 0) return {};
  Branch result = site.negated ? object_of(branch) : branch;
  if (is_least != site.negated) {
    limit_properties(result, is_least ? properties : properties + 1, kNoMost);
  } else {
    limit_properties(result, 0, is_least ? properties - 1 : properties);
  }
  return {std::move(result)};
}

Branches Keywords::on_dependencies(const Branch& branch, const Site& site) {
  if (!site.value.is_object()) invalid(site, "expected an object");
  Branches result;
  if (!site.negated) result.push_back(branch);
  for (const auto& member : site.value.members()) {
    const std::string_view name = member.first;
    const Json& dependency = member.second;
    const bool is_list = dependency.is_array();
    std::vector<std::string_view> needed;
    std::optional<Literal> schema_of;
    if (is_list) {
      needed = names(site, dependency);
    } else {
      schema_of = schema(document_.at(site.schema, site.keyword, name));
    }
    const auto present = [&](const Branch& one) {
      Branch with_key = object_of(one);
      add_name(with_key, name);
      need_key(with_key, key(name), {});
      return with_key;
    };
    if (site.negated) {
      const Branch there = present(branch);
      if (schema_of.has_value()) {
        Branches more = with(there, !*schema_of);
        result.insert(result.end(), more.begin(), more.end());
      }
      for (const std::string_view other : needed) {
        result.push_back(there);
        add_name(result.back(), other);
        forbid_key(result.back(), key(other));
      }
      continue;
    }
    Branches next;
    for (const Branch& one : result) {
      Branch absent = one;
      add_name(absent, name);
      forbid_key(absent, key(name));
      next.push_back(std::move(absent));
      Branch there = present(one);
      if (schema_of.has_value()) {
        Branches more = with(there, *schema_of, site.exact);
        next.insert(next.end(), more.begin(), more.end());
        continue;
      }
      for (const std::string_view other : needed) {
        add_name(there, other);
        need_key(there, key(other), {});
      }
      next.push_back(std::move(there));
    }
    result = keep_possible(std::move(next));
  }
  return result;
}

Branches Keywords::on_unevaluated_properties(const Branch& branch, const Site& site) {
  return rule_others(branch, site, branch.seen_keys);
}

}  // namespace pippin::constrain
