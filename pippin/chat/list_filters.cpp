// Filters for sequences and dicts.
#include <algorithm>
#include <functional>

#include "pippin/chat/filters.h"
#include "pippin/chat/operators.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

using Items = std::vector<Value>;
using Getter = std::function<Value(const Value&)>;

Value generator(Runtime& runtime, Items items) {
  return runtime.list(std::move(items), ListKind::Generator);
}

// Returns the value for comparisons: case-folded unless `exact`.
Value folded(Runtime& runtime, const Value& value, bool exact) {
  runtime.look(value);
  if (exact) return value;
  return value.is_string() ? Value(lower(value.string())) : value;
}

// "a.b.0": the attribute= that a filter reads from each item.
Getter attribute_getter(Runtime& runtime, const Value& path, std::optional<Value> fallback = {}) {
  if (path.is_none()) return [](const Value& value) { return value; };
  std::vector<Value> parts;
  if (path.is_integer()) {
    parts.push_back(path);
  } else {
    const std::string dot = ".";
    for (auto& part : split(to_text(path), &dot, -1, false)) {
      const bool digits =
          !part.empty() && part.size() < 10 &&
          std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
      parts.push_back(digits ? Value(static_cast<int64_t>(std::stoll(part)))
                             : Value(std::move(part)));
    }
  }
  return [&runtime, parts, fallback](const Value& value) {
    Value current = value;
    for (const auto& part : parts) {
      current = item(runtime, current, part);
      if (current.is_undefined() && fallback) current = *fallback;
    }
    return current;
  };
}

Value join(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("join", arguments, {"d", "attribute"});
  const std::string separator = given[0] ? to_text(*given[0]) : "";
  const Getter get = attribute_getter(runtime, given[1].value_or(Value()));
  std::string out;
  bool first = true;
  for (const auto& part : iterate(runtime, input)) {
    const std::string text = to_text(get(part));
    runtime.charge(static_cast<int64_t>(text.size() + separator.size()));
    if (!first) out += separator;
    first = false;
    out += text;
  }
  return out;
}

Value first(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("first", arguments, {});
  if (input.is_list() && input.list().kind == ListKind::Generator) {
    auto& items = input.mutable_list().items;
    if (items.empty()) return Value::undefined("No first item, sequence was empty.");
    Value front = items.front();
    items.erase(items.begin());
    return front;
  }
  const Items items = iterate(runtime, input);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("last", arguments, {});
  if (input.is_list() && input.list().kind == ListKind::Generator) {
    template_error("'generator' object is not reversible");
  }
  const Items items = iterate(runtime, input);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value list_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("list", arguments, {});
  return runtime.list(iterate(runtime, input));
}

Value reverse(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("reverse", arguments, {});
  Items items = iterate(runtime, input);
  std::reverse(items.begin(), items.end());
  if (!input.is_string()) return generator(runtime, std::move(items));
  std::string out;
  for (const auto& one : items) out += one.string();
  return runtime.string(std::move(out));
}

Value items_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("items", arguments, {});
  if (input.is_undefined()) return generator(runtime, {});
  if (!input.is_dict()) template_error("Can only get item pairs from a mapping.");
  Items pairs;
  for (const auto& [key, value] : input.dict().entries()) {
    pairs.push_back(runtime.list({key, value}, ListKind::Tuple));
  }
  return generator(runtime, std::move(pairs));
}

Items sorted(Runtime& runtime, Items items, const Getter& key, bool reverse) {
  runtime.step(static_cast<int64_t>(items.size()) * 16);
  std::vector<std::pair<Value, Value>> keyed;
  for (auto& one : items) {
    Value by = key(one);
    keyed.emplace_back(std::move(by), std::move(one));
  }
  const auto before = [&](const auto& a, const auto& b) {
    return order(runtime, "<", a.first, b.first) < 0;
  };
  if (reverse) {  // stable in reverse order, too
    std::stable_sort(keyed.begin(), keyed.end(),
                     [&](const auto& a, const auto& b) { return before(b, a); });
  } else {
    std::stable_sort(keyed.begin(), keyed.end(), before);
  }
  for (size_t i = 0; i < keyed.size(); ++i) items[i] = std::move(keyed[i].second);
  return items;
}

Value sort(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const bool exact = flag(given[1], false);
  const Value path = given[2].value_or(Value());
  std::vector<Getter> getters;
  if (path.is_string()) {
    const std::string comma = ",";
    for (const auto& one : split(path.string(), &comma, -1, false)) {
      getters.push_back(attribute_getter(runtime, Value(one)));
    }
  } else {
    getters.push_back(attribute_getter(runtime, path));
  }
  const Getter key = [&](const Value& value) {
    Items parts;
    for (const auto& get : getters) parts.push_back(folded(runtime, get(value), exact));
    return Value(std::move(parts));
  };
  return runtime.list(sorted(runtime, iterate(runtime, input), key, flag(given[0], false)));
}

Value dictsort(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  require_defined(input);
  if (!input.is_dict()) template_error("'{}' object has no attribute 'items'", input.type_name());
  const std::string by = given[1] ? to_text(*given[1]) : "key";
  if (by != "key" && by != "value")
    template_error("You can only sort by either \"key\" or \"value\"");
  const bool exact = flag(given[0], false);
  Items pairs;
  for (const auto& [key, value] : input.dict().entries()) {
    pairs.push_back(runtime.list({key, value}, ListKind::Tuple));
  }
  const size_t part = by == "key" ? 0 : 1;
  const Getter key = [&](const Value& pair) {
    return folded(runtime, pair.list().items[part], exact);
  };
  return runtime.list(sorted(runtime, std::move(pairs), key, flag(given[2], false)));
}

// map('filter', ...) or map(attribute='a', default=b).
Value map(Runtime& runtime, const Value& input, const Arguments& arguments) {
  Items out;
  if (!input.truthy()) return generator(runtime, {});  // also for None
  if (arguments.positional.empty()) {
    const auto given = bind("map", arguments, {"attribute", "default"}, 1);
    const Getter get = attribute_getter(runtime, *given[0], given[1]);
    for (const auto& one : iterate(runtime, input)) out.push_back(get(one));
    return generator(runtime, std::move(out));
  }
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + 1, arguments.positional.end());
  rest.named = arguments.named;
  const std::string name = to_text(arguments.positional[0]);
  for (const auto& one : iterate(runtime, input)) out.push_back(runtime.filter(name, one, rest));
  return generator(runtime, std::move(out));
}

// select, reject, selectattr and rejectattr.
template <bool keep, bool by_attribute>
Value choose(Runtime& runtime, const Value& input, const Arguments& arguments) {
  if (!input.truthy()) return generator(runtime, {});  // also for None
  size_t next = 0;
  Getter get = [](const Value& value) { return value; };
  if (by_attribute) {
    if (arguments.positional.empty()) template_error("Missing parameter for attribute name");
    get = attribute_getter(runtime, arguments.positional[next++]);
  }
  std::string test;
  Arguments rest;
  if (next < arguments.positional.size()) {
    test = to_text(arguments.positional[next++]);
    rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(next),
                           arguments.positional.end());
    rest.named = arguments.named;
  }
  Items out;
  for (auto& one : iterate(runtime, input)) {
    const Value value = get(one);
    if ((test.empty() ? value.truthy() : runtime.test(test, value, rest)) == keep) {
      out.push_back(std::move(one));
    }
  }
  return generator(runtime, std::move(out));
}

Value unique(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("unique", arguments, {"case_sensitive", "attribute"});
  const Getter get = attribute_getter(runtime, given[1].value_or(Value()));
  Dict seen;
  Items out;
  for (auto& one : iterate(runtime, input)) {
    const Value key = folded(runtime, get(one), flag(given[0], false));
    if (seen.find(key) != nullptr) continue;
    seen.set(key, true);
    out.push_back(std::move(one));
  }
  return generator(runtime, std::move(out));
}

Value groupby(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const Getter get = attribute_getter(runtime, *given[0], given[1]);
  const bool exact = flag(given[2], false);
  const Getter key = [&](const Value& value) { return folded(runtime, get(value), exact); };
  const Items items = sorted(runtime, iterate(runtime, input), key, false);
  Items groups;
  for (size_t i = 0; i < items.size();) {
    Items group;
    const Value name = key(items[i]);
    const Value shown = get(items[i]);
    while (i < items.size() && equal(runtime, key(items[i]), name)) group.push_back(items[i++]);
    groups.push_back(runtime.list({shown, runtime.list(std::move(group))}, ListKind::Tuple));
  }
  return runtime.list(std::move(groups));
}

Value sum(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("sum", arguments, {"attribute", "start"});
  const Getter get = attribute_getter(runtime, given[0].value_or(Value()));
  Value total = given[1].value_or(Value(0));
  for (const auto& one : iterate(runtime, input)) total = binary(runtime, "+", total, get(one));
  return total;
}

template <bool largest>
Value extreme(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("max", arguments, {"case_sensitive", "attribute"});
  const Getter get = attribute_getter(runtime, given[1].value_or(Value()));
  const bool exact = flag(given[0], false);
  std::optional<Value> best, best_key;
  for (const auto& one : iterate(runtime, input)) {
    const Value key = folded(runtime, get(one), exact);
    const bool better = !best || (largest ? order(runtime, ">", key, *best_key) > 0
                                          : order(runtime, "<", key, *best_key) < 0);
    if (!better) continue;
    best = one;
    best_key = key;
  }
  return best ? *best : Value::undefined("No aggregated item, sequence was empty.");
}

int64_t positive(const Value& value) {
  if (!value.is_integer() || value.integer() <= 0) template_error("a positive integer is needed");
  return value.integer();
}

Value batch(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("batch", arguments, {"linecount", "fill_with"}, 1);
  const auto size = static_cast<size_t>(positive(*given[0]));
  const Items items = iterate(runtime, input);
  Items rows;
  for (size_t i = 0; i < items.size();) {
    Items row;
    while (row.size() < size && i < items.size()) row.push_back(items[i++]);
    if (given[1] && !given[1]->is_none() && row.size() < size) {
      runtime.charge(static_cast<int64_t>(std::min<size_t>(size, 1 << 30) * sizeof(Value)));
      row.resize(size, *given[1]);
    }
    rows.push_back(runtime.list(std::move(row)));
  }
  return generator(runtime, std::move(rows));
}

Value slice_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("slice", arguments, {"slices", "fill_with"}, 1);
  const auto count = static_cast<size_t>(positive(*given[0]));
  const Items items = iterate(runtime, input);
  runtime.charge(static_cast<int64_t>(std::min<size_t>(count, 1 << 30) * sizeof(Value)));
  const size_t each = items.size() / count, longer = items.size() % count;
  Items columns;
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t size = each + (i < longer ? 1 : 0);
    Items column(items.begin() + static_cast<std::ptrdiff_t>(at),
                 items.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
    if (given[1] && !given[1]->is_none() && longer > 0 && i >= longer) column.push_back(*given[1]);
    columns.push_back(runtime.list(std::move(column)));
  }
  return generator(runtime, std::move(columns));
}

constexpr FilterEntry kListFilters[] = {
    {"join", join},
    {"first", first},
    {"last", last},
    {"list", list_filter},
    {"reverse", reverse},
    {"items", items_filter},
    {"sort", sort},
    {"dictsort", dictsort},
    {"map", map},
    {"select", choose<true, false>},
    {"reject", choose<false, false>},
    {"selectattr", choose<true, true>},
    {"rejectattr", choose<false, true>},
    {"unique", unique},
    {"groupby", groupby},
    {"sum", sum},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"batch", batch},
    {"slice", slice_filter},
};

}  // namespace

std::span<const FilterEntry> list_filters() {
  return kListFilters;
}

}  // namespace pippin::chat
