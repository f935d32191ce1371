// Keywords for all values, numbers and strings.
#include <algorithm>
#include <array>
#include <iterator>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/constrain/patterns/formats.h"
#include "pippin/constrain/patterns/json_text.h"
#include "pippin/constrain/patterns/numbers.h"
#include "pippin/constrain/patterns/pattern.h"
#include "pippin/constrain/schema/algebra.h"
#include "pippin/constrain/schema/keywords.h"

namespace pippin::constrain {

namespace {

constexpr std::array<std::pair<std::string_view, uint8_t>, 6> kTypes{
    {{"null", NullBit},
     {"boolean", FalseBit | TrueBit},
     {"number", NumberBit},
     {"string", StringBit},
     {"array", ArrayBit},
     {"object", ObjectBit}}};

}  // namespace

Branches Keywords::of(const std::vector<Literal>& literals) {
  std::set<std::pair<SchemaId, bool>> outer;
  outer.swap(open_);
  struct Restore {
    std::set<std::pair<SchemaId, bool>>&open, &outer;
    ~Restore() { open.swap(outer); }
  } restore{open_, outer};
  return with_each({anything()}, literals, false);
}

uint32_t Keywords::constant(const Json& value) {
  std::string text = value.dump();
  pool_.work().count(1 + text.size() / 16);
  const auto [it, is_new] =
      constant_ids_.emplace(std::move(text), static_cast<uint32_t>(constants_.size()));
  if (is_new) constants_.push_back(value);
  return it->second;
}

std::optional<std::vector<Literal>> Keywords::constants(const std::vector<Literal>& literals) {
  for (const Literal& one : literals) {
    if (one.negated) continue;
    if (one.kind == Literal::Kind::Constant) return std::vector{one};
    if (one.kind != Literal::Kind::Schema) continue;
    if (auto found = constants(one.id)) return found;
  }
  return std::nullopt;
}

std::optional<std::vector<Literal>> Keywords::constants(SchemaId schema) {
  const auto literal = [&](const Json& value) {
    // 1 and 1.0 are the same value.
    if (value.is_number()) {
      pool_.work().count(8 * constants_.size());
      for (uint32_t id = 0; id < constants_.size(); ++id) {
        if (constants_[id].is_number() &&
            Decimal::parse(constants_[id].dump()) == Decimal::parse(value.dump())) {
          return Literal{Literal::Kind::Constant, false, id};
        }
      }
    }
    return Literal{Literal::Kind::Constant, false, constant(value)};
  };
  // Follow references, which may be cyclic.
  for (std::set<SchemaId> seen; seen.insert(schema).second;) {
    const Json json = document_[schema].json;
    if (json.is_bool() && !json.as_bool()) return std::vector<Literal>();
    if (!json.is_object()) return std::nullopt;
    std::vector<Literal> found;
    if (json.contains("const")) {
      found.push_back(literal(json.at("const")));
    } else if (json.has("enum") && json.at("enum").is_array()) {
      for (const Json& value : json.at("enum").elements()) found.push_back(literal(value));
    } else if (json.has("type") && json.at("type").is_string() &&
               json.get_string("type") == "boolean") {
      for (const char* value : {"false", "true"})
        found.push_back(literal(Json::parse(value, "constant")));
    } else if (json.has("$ref")) {
      schema = document_.reference(schema, "$ref");
      continue;
    } else {
      return std::nullopt;
    }
    ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  return std::nullopt;
}

Literal Keywords::false_literal() {
  return algebra_.either({});
}

template <typename Change>
Branches Keywords::of_type(const Branch& branch, const Site& site, uint8_t types,
                           const Change& change) {
  Branch result = branch;
  if (site.negated) result.types &= types;
  if ((result.types & types) != 0) change(result);
  return {std::move(result)};
}

Branches Keywords::on_type(const Branch& branch, const Site& site) {
  std::vector<Json> names;
  if (site.value.is_array()) {
    names = site.value.elements();
  } else {
    names.push_back(site.value);
  }
  uint8_t types = 0;
  bool has_integer = false;
  for (const Json& name : names) {
    if (!name.is_string()) invalid(site, "expected the name of a type, or a list of them");
    const std::string_view text = name.as_string();
    if (text == "integer") {
      has_integer = true;
      continue;
    }
    const auto it = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const auto& type) { return type.first == text; });
    if (it == kTypes.end()) invalid(site, "\"" + std::string(text) + "\" is not a type");
    types |= it->second;
  }
  const bool only_integers = has_integer && (types & NumberBit) == 0;
  if (only_integers && !any_integer_.has_value()) any_integer_ = json_integer(pool_, spelling());
  Branch result = branch;
  if (site.negated) {
    result.types &= static_cast<uint8_t>(~types);
    if (only_integers) result.number = pool_.minus(result.number, *any_integer_);
  } else {
    result.types &= only_integers ? types | NumberBit : types;
    if (only_integers)
      result.number = result.number == *any_number_ ? *any_integer_
                                                    : pool_.all_of(result.number, *any_integer_);
  }
  return {std::move(result)};
}

Branches Keywords::on_const(const Branch& branch, const Site& site) {
  return with_constant(branch, constant(site.value), site.negated);
}

Branches Keywords::on_enum(const Branch& branch, const Site& site) {
  if (!site.value.is_array()) invalid(site, "expected a list of values");
  if (site.negated) {
    std::vector<Literal> none;
    for (const Json& value : site.value.elements())
      none.push_back({Literal::Kind::Constant, true, constant(value)});
    return with_each({branch}, none, false);
  }
  // Scalars share one branch; each list and object has its own.
  Branches result;
  Branch scalar = branch;
  scalar.types = 0;
  std::vector<RegexId> numbers, strings;
  for (const Json& value : site.value.elements()) {
    switch (value.type()) {
      case Json::Type::Null:
        scalar.types |= NullBit;
        break;
      case Json::Type::Bool:
        scalar.types |= value.as_bool() ? TrueBit : FalseBit;
        break;
      case Json::Type::Integer:
      case Json::Type::Float:
        scalar.types |= NumberBit;
        numbers.push_back(equal_to(pool_, number(site, value), spelling()));
        break;
      case Json::Type::String:
        scalar.types |= StringBit;
        strings.push_back(json_string_content(pool_, value.as_string()));
        break;
      case Json::Type::Array:
      case Json::Type::Object: {
        Branches one = with_constant(branch, constant(value), false);
        result.insert(result.end(), one.begin(), one.end());
        break;
      }
    }
  }
  scalar.types &= branch.types;
  if (!numbers.empty()) scalar.number = pool_.all_of(branch.number, pool_.any_of(numbers));
  if (!strings.empty()) {
    const RegexId any = pool_.any_of(strings);
    scalar.string = branch.string == *any_string_ ? any : pool_.all_of(branch.string, any);
  }
  result.insert(result.begin(), std::move(scalar));
  return result;
}

Branches Keywords::with_constant(const Branch& branch, uint32_t id, bool negated) {
  const Json value = constants_[id];
  Branch result = branch;
  const auto only = [&](uint8_t type) {
    result.types &= negated ? static_cast<uint8_t>(~type) : type;
  };
  switch (value.type()) {
    case Json::Type::Null:
      only(NullBit);
      return {result};
    case Json::Type::Bool:
      only(value.as_bool() ? TrueBit : FalseBit);
      return {result};
    case Json::Type::Integer:
    case Json::Type::Float: {
      const std::optional<Decimal> number = Decimal::parse(value.dump());
      if (!number.has_value())
        fail(ErrorCode::LimitExceeded, "a number of the schema cannot be written out: {}",
             value.dump());
      const RegexId equal = equal_to(pool_, *number, spelling());
      result.number =
          negated ? pool_.minus(result.number, equal) : pool_.all_of(result.number, equal);
      if (!negated) only(NumberBit);
      return {result};
    }
    case Json::Type::String: {
      const RegexId equal = json_string_content(pool_, value.as_string());
      result.string =
          negated ? pool_.minus(result.string, equal) : pool_.all_of(result.string, equal);
      if (!negated) only(StringBit);
      return {result};
    }
    case Json::Type::Array:
    case Json::Type::Object:
      break;
  }
  const auto literal = [&](const Json& inner) {
    return Literal{Literal::Kind::Constant, negated, constant(inner)};
  };
  Branches branches;
  const uint64_t size = value.size();
  if (value.is_array()) {
    if (!negated) {
      result.types &= ArrayBit;
      limit_items(result, size, size);
      for (uint64_t i = 0; i < size; ++i)
        result.item_rules.push_back({i, i + 1, literal(value.at(i))});
      return {result};
    }
    only(ArrayBit);
    branches.push_back(result);
    Branch array = branch;
    array.types &= ArrayBit;
    branches.push_back(array);
    limit_items(branches.back(), size + 1, kNoMost);
    if (size == 0) return branches;
    branches.push_back(array);
    limit_items(branches.back(), 0, size - 1);
    for (uint64_t i = 0; i < size; ++i) {
      branches.push_back(array);
      limit_items(branches.back(), size, size);
      branches.back().item_rules.push_back({i, i + 1, literal(value.at(i))});
    }
    return branches;
  }
  std::vector<RegexId> keys;
  for (const auto& [name, inner] : value.members()) keys.push_back(key(name));
  if (!negated) {
    result.types &= ObjectBit;
    limit_properties(result, size, size);
    for (const auto& [name, inner] : value.members()) {
      add_name(result, name);
      need_key(result, key(name), {literal(inner)});
    }
    result.keys = pool_.all_of(result.keys, pool_.any_of(keys));
    return {result};
  }
  only(ObjectBit);
  branches.push_back(result);
  Branch object = branch;
  object.types &= ObjectBit;
  branches.push_back(object);
  need_key(branches.back(), pool_.minus(*any_string_, pool_.any_of(keys)), {});
  for (const auto& [name, inner] : value.members()) {
    add_name(object, name);
    branches.push_back(object);
    forbid_key(branches.back(), key(name));
    branches.push_back(object);
    need_key(branches.back(), key(name), {literal(inner)});
  }
  return branches;
}

Branches Keywords::on_length(const Branch& branch, const Site& site) {
  const uint64_t length = count(site);
  const bool is_least = site.keyword == "minLength";
  if (is_least && length == 0) return site.negated ? Branches() : Branches{branch};
  return of_type(branch, site, StringBit, [&](Branch& one) {
    if (is_least != site.negated) {
      const uint64_t least = is_least ? length : length + 1;
      one.string = pool_.all_of(one.string, string_length(pool_, least, std::nullopt));
    } else {
      const uint64_t most = is_least ? length - 1 : length;
      one.string = pool_.all_of(one.string, string_length(pool_, 0, most));
    }
  });
}

Branches Keywords::on_pattern(const Branch& branch, const Site& site) {
  if (!site.value.is_string()) invalid(site, "expected a regular expression");
  const RegexId found = pattern_of(site.schema, site.keyword, site.value.as_string());
  return of_type(branch, site, StringBit, [&](Branch& one) {
    one.string = site.negated ? pool_.minus(one.string, found) : pool_.all_of(one.string, found);
  });
}

Branches Keywords::on_format(const Branch& branch, const Site& site) {
  if (!site.value.is_string()) invalid(site, "expected the name of a format");
  std::optional<RegexId> content;
  if (options_.format_asserts) {
    content = with_context(document_.where(site.schema, site.keyword), [&] {
      return format_content(pool_, site.value.as_string(), options_.every_spelling);
    });
  }
  if (!content.has_value()) return site.negated ? Branches() : Branches{branch};
  return of_type(branch, site, StringBit, [&](Branch& one) {
    one.string =
        site.negated ? pool_.minus(one.string, *content) : pool_.all_of(one.string, *content);
  });
}

Branches Keywords::on_bound(const Branch& branch, const Site& site) {
  const bool is_least = site.keyword.ends_with("inimum");
  bool exclusive = site.keyword.starts_with("exclusive");
  if (site.value.is_bool()) {
    // Draft 4 has a flag next to the bound.
    if (!exclusive) invalid(site, "expected a number");
    return site.negated ? Branches() : Branches{branch};
  }
  if (!exclusive) {
    const Json json = document_[site.schema].json;
    const char* flag = is_least ? "exclusiveMinimum" : "exclusiveMaximum";
    exclusive = json.has(flag) && json.at(flag).is_bool() && json.at(flag).as_bool();
  }
  const Decimal bound = number(site, site.value);
  return of_type(branch, site, NumberBit, [&](Branch& one) {
    const RegexId range = with_context(document_.where(site.schema, site.keyword), [&] {
      // The opposite of "at least" is "less than".
      return is_least != site.negated
                 ? at_least(pool_, bound, exclusive != site.negated, spelling())
                 : at_most(pool_, bound, exclusive != site.negated, spelling());
    });
    one.number = one.number == *any_number_ ? range : pool_.all_of(one.number, range);
  });
}

Branches Keywords::on_multiple(const Branch& branch, const Site& site) {
  const Decimal divisor = number(site, site.value);
  return of_type(branch, site, NumberBit, [&](Branch& one) {
    const RegexId multiples = with_context(document_.where(site.schema, site.keyword),
                                           [&] { return multiple_of(pool_, divisor, spelling()); });
    one.number =
        site.negated ? pool_.minus(one.number, multiples) : pool_.all_of(one.number, multiples);
  });
}

}  // namespace pippin::constrain
