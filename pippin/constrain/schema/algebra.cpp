#include "pippin/constrain/schema/algebra.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/constrain/schema/states.h"

namespace pippin::constrain {

Algebra::Algebra(RegexPool& pool, SchemaDocument& document, const SchemaOptions& options)
    : pool_(pool), options_(options), keywords_(pool, document, *this, options) {}

ValueId Algebra::value(std::vector<Literal> literals) {
  pool_.work().count(1 + literals.size());
  ranges::sort(literals);
  literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
  // A literal and its negation exclude each other.
  for (const Literal& literal : literals) {
    if (!literal.negated && ranges::binary_search(literals, !literal)) {
      literals = {either({})};
      break;
    }
  }
  const auto [it, is_new] =
      ids_.emplace(std::move(literals), static_cast<ValueId>(literals_.size()));
  if (is_new) {
    if (literals_.size() >= options_.max_values) {
      fail(ErrorCode::LimitExceeded,
           "the schema has more than {} different values within its value", options_.max_values);
    }
    literals_.push_back(&it->first);
    forms_.emplace_back();
    possible_.push_back(false);
  }
  return it->second;
}

Literal Algebra::either(std::vector<Literal> literals) {
  ranges::sort(literals);
  const auto [it, is_new] =
      either_ids_.emplace(std::move(literals), static_cast<uint32_t>(eithers_.size()));
  if (is_new) eithers_.push_back(&it->first);
  return {Literal::Kind::Either, false, it->second};
}

const Form& Algebra::form(ValueId id) {
  if (!forms_[id].has_value()) {
    if (!open_.insert(id).second) {
      fail(ErrorCode::InvalidArgument,
           "the schema's propertyNames refer to themselves without an end");
    }
    struct Close {
      std::set<ValueId>& open;
      ValueId id;
      ~Close() { open.erase(id); }
    } close{open_, id};
    forms_[id] = make(keywords_.of(literals(id)));
  }
  return *forms_[id];
}

Form Algebra::make(const Branches& branches) {
  Form form;
  std::vector<RegexId> numbers, strings;
  for (const Branch& branch : branches) {
    form.has_null |= (branch.types & NullBit) != 0;
    form.has_false |= (branch.types & FalseBit) != 0;
    form.has_true |= (branch.types & TrueBit) != 0;
    if ((branch.types & NumberBit) != 0) numbers.push_back(branch.number);
    if ((branch.types & StringBit) != 0) strings.push_back(branch.string);
    if ((branch.types & ArrayBit) != 0) {
      ArrayForm made = array(branch);
      if (!ranges::contains(form.arrays, made)) form.arrays.push_back(std::move(made));
    }
    if ((branch.types & ObjectBit) != 0) {
      std::optional<ObjectForm> made = object(branch);
      if (made.has_value() && !ranges::contains(form.objects, *made))
        form.objects.push_back(std::move(*made));
    }
  }
  form.number = pool_.any_of(numbers);
  form.string = pool_.any_of(strings);
  return form;
}

ArrayForm Algebra::array(const Branch& branch) {
  constexpr uint64_t kLongest = 10'000;
  ArrayForm form{
      .least = branch.least_items, .most = branch.most_items, .unique = branch.unique_items};
  uint64_t length = 0;
  for (const Branch::ItemRule& rule : branch.item_rules)
    length = std::max(length, rule.last == kNoMost ? rule.first : rule.last);
  if (length > kLongest)
    fail(ErrorCode::LimitExceeded, "the schema tells more than {} items apart", kLongest);
  const auto item = [&](uint64_t i) {
    pool_.work().count(branch.item_rules.size());
    std::vector<Literal> literals;
    for (const Branch::ItemRule& rule : branch.item_rules) {
      if (rule.first <= i && i < rule.last) literals.push_back(rule.literal);
    }
    return value(std::move(literals));
  };
  for (uint64_t i = 0; i < std::min(length, form.most); ++i) form.prefix.push_back(item(i));
  form.rest = item(length);
  for (const Branch::ItemNeed& need : branch.item_needs) {
    form.counts.push_back(
        {need.first, need.last, value(need.literal), value(!need.literal), need.least, need.most});
  }
  ranges::sort(form.counts);
  form.counts.erase(std::unique(form.counts.begin(), form.counts.end()), form.counts.end());
  if (form.most <= 1) form.unique.clear();
  return form;
}

std::optional<ObjectForm> Algebra::object(const Branch& branch) {
  ObjectForm form{.least = branch.least_properties, .most = branch.most_properties};
  std::vector<RegexId> named;
  std::vector<bool> is_named_need(branch.key_needs.size());
  for (const std::string& name : branch.names) named.push_back(keywords_.key(name));
  const std::unordered_set<RegexId> names(named.begin(), named.end());
  const auto is_named = [&](RegexId keys) { return names.contains(keys); };
  for (size_t i = 0; i < branch.names.size(); ++i) {
    pool_.work().count(branch.key_rules.size() + branch.key_needs.size());
    const std::string& name = branch.names[i];
    const RegexId key = named[i];
    std::string content = JsonWriter().value(name).text();
    content = content.substr(1, content.size() - 2);
    std::vector<Literal> literals;
    for (const Branch::KeyRule& rule : branch.key_rules) {
      // Most rules have a single name.
      const bool matches =
          rule.keys == key || (!is_named(rule.keys) && pool_.matches(rule.keys, content));
      if (matches) literals.push_back(rule.literal);
    }
    bool required = false;
    for (size_t n = 0; n < branch.key_needs.size(); ++n) {
      const Branch::KeyNeed& need = branch.key_needs[n];
      if (need.keys != key) continue;
      required = is_named_need[n] = true;
      literals.insert(literals.end(), need.literals.begin(), need.literals.end());
    }
    const ValueId inner = value(std::move(literals));
    if (!pool_.matches(branch.keys, content) || is_plainly_impossible(inner, 0)) {
      if (required) return std::nullopt;
      continue;
    }
    form.properties.push_back({name, inner, required});
  }
  std::vector<std::pair<RegexId, std::vector<Literal>>> classes;
  const RegexId others =
      named.empty() ? branch.keys : pool_.minus(branch.keys, pool_.any_of(named));
  if (!pool_.is_nothing(others)) classes.push_back({others, {}});
  for (const Branch::KeyRule& rule : branch.key_rules) {
    if (is_named(rule.keys)) continue;
    std::vector<std::pair<RegexId, std::vector<Literal>>> next;
    for (auto& [keys, literals] : classes) {
      // Most often, "additionalProperties" covers exactly the remaining keys.
      if (keys == rule.keys) {
        literals.push_back(rule.literal);
        next.emplace_back(keys, std::move(literals));
        continue;
      }
      const RegexId outside = pool_.minus(keys, rule.keys);
      const bool has_outside = !pool_.is_nothing(outside);
      if (has_outside) next.push_back({outside, literals});
      const RegexId inside = has_outside ? pool_.all_of(keys, rule.keys) : keys;
      if (pool_.is_nothing(inside)) continue;
      literals.push_back(rule.literal);
      next.push_back({inside, std::move(literals)});
    }
    if (next.size() > options_.max_branches) {
      fail(ErrorCode::LimitExceeded, "the schema tells more than {} kinds of keys apart",
           options_.max_branches);
    }
    classes = std::move(next);
  }
  for (auto& [keys, literals] : classes) {
    const ValueId inner = value(std::move(literals));
    if (!is_plainly_impossible(inner, 0)) form.others.push_back({keys, inner});
  }
  for (size_t n = 0; n < branch.key_needs.size(); ++n) {
    if (!is_named_need[n])
      form.needs.push_back({branch.key_needs[n].keys, value(branch.key_needs[n].literals)});
  }
  ranges::sort(form.needs);
  form.needs.erase(std::unique(form.needs.begin(), form.needs.end()), form.needs.end());
  return form;
}

bool Algebra::is_plainly_impossible(ValueId id, int depth) {
  const std::vector<Literal>& all = literals(id);
  if (all.size() == 1 && all[0].kind == Literal::Kind::Either && !all[0].negated &&
      alternatives(all[0].id).empty())
    return true;
  if (ranges::contains(all, either({}))) return true;
  if (depth == 0 || open_.contains(id)) return false;
  const Form& known = form(id);
  if (known.has_null || known.has_false || known.has_true || !pool_.is_nothing(known.number) ||
      !pool_.is_nothing(known.string)) {
    return false;
  }
  const bool no_array = ranges::all_of(known.arrays, [&](const ArrayForm& array) {
    for (uint64_t i = 0; i < std::min<uint64_t>(array.least, array.prefix.size()); ++i) {
      if (is_plainly_impossible(array.prefix[i], depth - 1)) return true;
    }
    return false;
  });
  return no_array && ranges::all_of(known.objects, [&](const ObjectForm& object) {
           return ranges::any_of(object.properties, [&](const ObjectForm::Property& property) {
             return property.required && is_plainly_impossible(property.value, depth - 1);
           });
         });
}

bool Algebra::exclude_each_other(const Literal& a, const Literal& b) {
  return is_plainly_impossible(value({a, b}), 3);
}

void Algebra::close(ValueId root) {
  std::vector<ValueId> reached{root};
  std::vector<bool> seen(num_values());
  const auto reach = [&](ValueId id) {
    if (seen.size() < num_values()) seen.resize(num_values());
    if (seen[id]) return;
    seen[id] = true;
    reached.push_back(id);
  };
  seen[root] = true;
  for (size_t i = 0; i < reached.size(); ++i) {
    pool_.work().count();
    // A copy, because computing values may move the forms.
    const Form known = form(reached[i]);
    for (const ArrayForm& array : known.arrays) {
      for (const ValueId inner : ArrayStates(*this, array).values()) reach(inner);
    }
    for (const ObjectForm& object : known.objects) {
      for (const ValueId inner : ObjectStates(*this, object, options_.order).values()) reach(inner);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = reached.size(); i-- > 0;) {
      const ValueId id = reached[i];
      pool_.work().count();
      if (possible_[id]) continue;
      const Form& known = form(id);
      const bool has_scalar = known.has_null || known.has_false || known.has_true ||
                              !pool_.is_nothing(known.number) || !pool_.is_nothing(known.string);
      if (has_scalar ||
          ranges::any_of(
              known.arrays,
              [&](const ArrayForm& array) { return ArrayStates(*this, array).is_possible(); }) ||
          ranges::any_of(known.objects, [&](const ObjectForm& object) {
            return ObjectStates(*this, object, options_.order).is_possible();
          })) {
        possible_[id] = changed = true;
      }
    }
  }
}

}  // namespace pippin::constrain
