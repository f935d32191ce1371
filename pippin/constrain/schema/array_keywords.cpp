// Keywords for arrays.
#include <algorithm>
#include <iterator>

#include "pippin/constrain/schema/algebra.h"
#include "pippin/constrain/schema/keywords.h"

namespace pippin::constrain {

namespace {

Branch array_of(const Branch& branch) {
  Branch result = branch;
  result.types &= ArrayBit;
  return result;
}

}  // namespace

void Keywords::limit_items(Branch& branch, uint64_t least, uint64_t most) {
  branch.least_items = std::max(branch.least_items, least);
  branch.most_items = std::min(branch.most_items, most);
  if (branch.least_items > branch.most_items) branch.types &= static_cast<uint8_t>(~ArrayBit);
}

Branches Keywords::on_prefix_items(const Branch& branch, const Site& site) {
  const std::vector<SchemaId> items = list(site);
  if (!site.negated) {
    Branch result = branch;
    for (uint64_t i = 0; i < items.size(); ++i)
      result.item_rules.push_back({i, i + 1, schema(items[i])});
    result.seen_items = std::max<uint64_t>(result.seen_items, items.size());
    return {std::move(result)};
  }
  Branches result;
  for (uint64_t i = 0; i < items.size(); ++i) {
    result.push_back(array_of(branch));
    limit_items(result.back(), i + 1, kNoMost);
    result.back().item_rules.push_back({i, i + 1, !schema(items[i])});
  }
  return result;
}

Branches Keywords::on_items(const Branch& branch, const Site& site) {
  const Json json = document_[site.schema].json;
  uint64_t first = 0;
  if (site.keyword == "additionalItems") {
    // From older drafts, where "items" may be a list; otherwise it has no effect.
    if (!json.has("items") || !json.at("items").is_array())
      return site.negated ? Branches() : Branches{branch};
    first = json.at("items").size();
  } else if (site.value.is_array()) {
    return on_prefix_items(branch, site);
  } else if (json.has("prefixItems") && json.at("prefixItems").is_array()) {
    first = json.at("prefixItems").size();
  }
  const Literal item = schema(document_.at(site.schema, site.keyword));
  if (site.negated) {
    Branch result = array_of(branch);
    result.item_needs.push_back({first, kNoMost, !item, 1, kNoMost});
    return {std::move(result)};
  }
  Branch result = branch;
  result.item_rules.push_back({first, kNoMost, item});
  result.seen_items = kNoMost;
  return {std::move(result)};
}

Branches Keywords::on_contains(const Branch& branch, const Site& site) {
  const Json json = document_[site.schema].json;
  const auto bound = [&](std::string_view keyword, uint64_t fallback) {
    if (!json.contains(keyword)) return fallback;
    return count({site.schema, keyword, json.at(keyword), false, false});
  };
  const uint64_t least = bound("minContains", 1), most = bound("maxContains", kNoMost);
  const Literal item = schema(document_.at(site.schema, site.keyword));
  Branches result;
  if (site.negated) {
    if (least > 0) {
      result.push_back(array_of(branch));
      result.back().item_needs.push_back({0, kNoMost, item, 0, least - 1});
    }
    if (most != kNoMost) {
      result.push_back(array_of(branch));
      result.back().item_needs.push_back({0, kNoMost, item, most + 1, kNoMost});
    }
    return result;
  }
  result.push_back(branch);
  if (least > 0 || most != kNoMost)
    result.back().item_needs.push_back({0, kNoMost, item, least, most});
  if (document_.draft(site.schema) == Draft::Draft2020) result.back().seen_if.push_back(item);
  return result;
}

Branches Keywords::on_item_count(const Branch& branch, const Site& site) {
  const uint64_t items = count(site);
  const bool is_least = site.keyword == "minItems";
  if (is_least && site.negated && items == 0) return {};
  Branch result = site.negated ? array_of(branch) : branch;
  if (is_least != site.negated) {
    limit_items(result, is_least ? items : items + 1, kNoMost);
  } else {
    limit_items(result, 0, is_least ? items - 1 : items);
  }
  return {std::move(result)};
}

Branches Keywords::on_unique_items(const Branch& branch, const Site& site) {
  if (!site.value.is_bool()) invalid(site, "expected true or false");
  if (!site.value.as_bool()) return site.negated ? Branches() : Branches{branch};
  if (site.negated) unsupported(site, "that items are not unique");
  Branch result = branch;
  result.unique_items = document_.where(site.schema, site.keyword);
  return {std::move(result)};
}

Branches Keywords::on_unevaluated_items(const Branch& branch, const Site& site) {
  const Literal rest = schema(document_.at(site.schema, site.keyword));
  if (branch.seen_items == kNoMost) return site.negated ? Branches() : Branches{branch};
  Literal item = rest;
  if (!branch.seen_if.empty()) {
    std::vector<Literal> either = branch.seen_if;
    either.push_back(rest);
    item = algebra_.either(std::move(either));
  }
  if (site.negated) {
    Branch result = array_of(branch);
    result.item_needs.push_back({branch.seen_items, kNoMost, !item, 1, kNoMost});
    return {std::move(result)};
  }
  Branch result = branch;
  result.item_rules.push_back({branch.seen_items, kNoMost, item});
  result.seen_items = kNoMost;
  return {std::move(result)};
}

}  // namespace pippin::constrain
