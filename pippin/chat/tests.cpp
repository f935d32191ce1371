#include "pippin/chat/tests.h"

#include "pippin/chat/filters.h"
#include "pippin/chat/operators.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

// `other` is the test's argument, or None if it has none.
using Test = bool (*)(Runtime& runtime, const Value& value, const Value& other);

template <int64_t expected>
bool parity(Runtime& /*runtime*/, const Value& value, const Value& /*other*/) {
  require_defined(value);
  if (!value.is_integer()) template_error("an integer is needed, not {}", value.type_name());
  return ((value.integer() % 2) + 2) % 2 == expected;
}

bool divisible(Runtime& /*runtime*/, const Value& value, const Value& other) {
  if (!value.is_integer() || !other.is_integer()) template_error("integers are needed");
  if (other.integer() == 0) template_error("division by zero");
  return other.integer() == -1 || value.integer() % other.integer() == 0;
}

bool same(Runtime& runtime, const Value& value, const Value& other) {
  return value.type() == other.type() && equal(runtime, value, other);
}

bool is_equal(Runtime& runtime, const Value& value, const Value& other) {
  return equal(runtime, value, other);
}
bool is_mapping(Runtime& /*runtime*/, const Value& value, const Value& /*other*/) {
  return value.is_dict();
}
bool is_iterable(Runtime& /*runtime*/, const Value& value, const Value& /*other*/) {
  return value.is_list() || value.is_dict() || value.is_string() || value.is_undefined();
}
bool is_sequence(Runtime& /*runtime*/, const Value& value, const Value& /*other*/) {
  if (value.is_list()) {
    return value.list().kind != ListKind::Generator && value.list().kind != ListKind::DictView;
  }
  return value.is_dict() || value.is_string();
}

struct Entry {
  std::string_view name;
  int arguments;
  Test test;
};

template <char kind>
bool ordered(Runtime& runtime, const Value& value, const Value& other) {
  if (kind == '<') return compare(runtime, "<", value, other);
  if (kind == 'l') return compare(runtime, "<=", value, other);
  if (kind == '>') return compare(runtime, ">", value, other);
  return compare(runtime, ">=", value, other);
}

constexpr Entry kTests[] = {
    {"defined", 0, [](Runtime&, const Value& v, const Value&) { return !v.is_undefined(); }},
    {"undefined", 0, [](Runtime&, const Value& v, const Value&) { return v.is_undefined(); }},
    {"none", 0, [](Runtime&, const Value& v, const Value&) { return v.is_none(); }},
    {"boolean", 0, [](Runtime&, const Value& v, const Value&) { return v.is(Type::Boolean); }},
    {"true", 0,
     [](Runtime&, const Value& v, const Value&) { return v.is(Type::Boolean) && v.boolean(); }},
    {"false", 0,
     [](Runtime&, const Value& v, const Value&) { return v.is(Type::Boolean) && !v.boolean(); }},
    {"integer", 0,
     [](Runtime&, const Value& v, const Value&) { return v.is(Type::Integer) || v.is_big(); }},
    {"float", 0, [](Runtime&, const Value& v, const Value&) { return v.is(Type::Float); }},
    {"number", 0, [](Runtime&, const Value& v, const Value&) { return v.is_number(); }},
    {"string", 0, [](Runtime&, const Value& v, const Value&) { return v.is_string(); }},
    {"mapping", 0, is_mapping},
    {"iterable", 0, is_iterable},
    {"sequence", 0, is_sequence},
    {"callable", 0,
     [](Runtime&, const Value& v, const Value&) {
       return v.is(Type::Object) && v.object()->callable();
     }},
    {"even", 0, parity<0>},
    {"odd", 0, parity<1>},
    {"divisibleby", 1, divisible},
    {"lower", 0,
     [](Runtime&, const Value& v, const Value&) {
       const std::string text = to_text(v);
       return lower(text) == text && upper(text) != text;
     }},
    {"upper", 0,
     [](Runtime&, const Value& v, const Value&) {
       const std::string text = to_text(v);
       return upper(text) == text && lower(text) != text;
     }},
    {"sameas", 1, same},
    {"escaped", 0, [](Runtime&, const Value& v, const Value&) { return v.is_markup(); }},
    {"filter", 0,
     [](Runtime&, const Value& v, const Value&) {
       return v.is_string() && has_filter(v.string());
     }},
    {"test", 0,
     [](Runtime&, const Value& v, const Value&) { return v.is_string() && has_test(v.string()); }},
    {"in", 1,
     [](Runtime& runtime, const Value& v, const Value& other) {
       return contains(runtime, other, v);
     }},
    {"eq", 1, is_equal},
    {"==", 1, is_equal},
    {"equalto", 1, is_equal},
    {"ne", 1,
     [](Runtime& runtime, const Value& v, const Value& other) {
       return !equal(runtime, v, other);
     }},
    {"!=", 1,
     [](Runtime& runtime, const Value& v, const Value& other) {
       return !equal(runtime, v, other);
     }},
    {"lt", 1, ordered<'<'>},
    {"<", 1, ordered<'<'>},
    {"lessthan", 1, ordered<'<'>},
    {"le", 1, ordered<'l'>},
    {"<=", 1, ordered<'l'>},
    {"gt", 1, ordered<'>'>},
    {">", 1, ordered<'>'>},
    {"greaterthan", 1, ordered<'>'>},
    {"ge", 1, ordered<'g'>},
    {">=", 1, ordered<'g'>},
};

const Entry* find(std::string_view name) {
  for (const auto& entry : kTests) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace

bool has_test(std::string_view name) {
  return find(name) != nullptr;
}

bool apply_test(Runtime& runtime, std::string_view name, const Value& input,
                const Arguments& arguments) {
  runtime.step();
  runtime.look(input);
  runtime.look(arguments);
  const Entry* entry = find(name);
  if (entry == nullptr) template_error("no test named '{}'", name);
  if (static_cast<int>(arguments.positional.size()) != entry->arguments ||
      !arguments.named.empty()) {
    template_error("the test '{}' takes {} argument(s)", name, entry->arguments);
  }
  return entry->test(runtime, input, entry->arguments == 0 ? Value() : arguments.positional[0]);
}

}  // namespace pippin::chat
