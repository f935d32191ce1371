#include "pippin/chat/methods.h"

#include <algorithm>
#include <memory>
#include <string>

#include "pippin/base/text.h"
#include "pippin/chat/characters.h"
#include "pippin/chat/format.h"
#include "pippin/chat/operators.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

using Method = Value (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

class BoundMethod final : public Object {
 public:
  BoundMethod(Value self, Method method)
      : depth_(depth_around({self})), self_(std::move(self)), method_(method) {}
  int depth() const override { return depth_; }
  std::string type_name() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments& arguments) override {
    runtime.look(self_);
    runtime.look(arguments);
    Value result = method_(runtime, self_, arguments);
    if (!self_.is_markup()) return result;
    // Parts of markup are markup.
    if (result.is_string()) return Value::markup(result.string());
    if (result.is_list()) {
      for (auto& part : result.mutable_list().items) part = Value::markup(part.string());
    }
    return result;
  }

 private:
  int depth_;
  Value self_;
  Method method_;
};

const std::string& text_argument(std::string_view function, const Value& value) {
  require_defined(value);
  if (!value.is_string()) {
    template_error("{}() argument must be str, not {}", function, value.type_name());
  }
  return value.string();
}

int64_t integer_argument(std::string_view function, const Value& value) {
  require_defined(value);
  if (!value.is_integer()) {
    template_error("{}() argument must be int, not {}", function, value.type_name());
  }
  return value.integer();
}

// Returns a character set or separator: null for None or if absent.
const std::string* optional_text(std::string_view function, const std::optional<Value>& value) {
  return !value || value->is_none() ? nullptr : &text_argument(function, *value);
}

Value refuse_change(Runtime& /*runtime*/, const Value& self, const Arguments& /*arguments*/) {
  template_error("templates cannot change a {}", self.type_name());
}

template <bool left, bool right>
Value strip_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto given = bind("strip", arguments, {"chars"});
  const std::string* set = optional_text("strip", given[0]);
  return runtime.string(std::string(strip(self.string(), set, left, right)));
}

template <std::string (*convert)(std::string_view)>
Value convert_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  bind("str method", arguments, {});
  return runtime.string(convert(self.string()));
}

template <bool from_right>
Value split_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto given = bind("split", arguments, {"sep", "maxsplit"});
  const std::string* separator = optional_text("split", given[0]);
  if (separator != nullptr && separator->empty()) template_error("empty separator");
  const int64_t most = given[1] ? integer_argument("split", *given[1]) : -1;
  charge_parts(runtime, self.string(), separator);
  std::vector<Value> parts;
  for (auto& part : split(self.string(), separator, most, from_right)) {
    parts.emplace_back(std::move(part));
  }
  return runtime.list(std::move(parts));
}

// startswith and endswith: one string or a tuple of them.
template <bool at_start>
Value affix_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const char* name = at_start ? "startswith" : "endswith";
  const auto given = bind(name, arguments, {"prefix", "start", "end"}, 1);
  if (given[1] || given[2]) template_error("{}() with a range is not supported", name);
  std::vector<Value> options = {*given[0]};
  if (given[0]->is_list() && given[0]->list().kind == ListKind::Tuple) {
    options = given[0]->list().items;
  }
  return std::any_of(options.begin(), options.end(), [&](const Value& option) {
    runtime.look(option);
    const std::string& affix = text_argument(name, option);
    return at_start ? self.string().starts_with(affix) : self.string().ends_with(affix);
  });
}

template <bool from_right>
int64_t find_text(const Value& self, const Arguments& arguments) {
  const auto given = bind("find", arguments, {"sub", "start"}, 1);
  const std::string& text = self.string();
  size_t from = 0;
  if (given[1]) {
    const int64_t length = text_length(text);
    int64_t start = integer_argument("find", *given[1]);
    if (start < 0) start = std::max<int64_t>(0, start + length);
    if (start > length) return -1;
    from = byte_offset(text, static_cast<size_t>(start));
  }
  const std::string& wanted = text_argument("find", *given[0]);
  const size_t at = from_right ? text.rfind(wanted) : text.find(wanted, from);
  if (at == std::string::npos || at < from) return -1;
  return text_length(std::string_view(text).substr(0, at));
}

template <bool from_right>
Value find_method_of_text(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  return find_text<from_right>(self, arguments);
}

template <bool from_right>
Value index_method(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const int64_t at = find_text<from_right>(self, arguments);
  if (at < 0) template_error("substring not found");
  return at;
}

Value count_text(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const auto given = bind("count", arguments, {"sub"}, 1);
  const std::string& wanted = text_argument("count", *given[0]);
  if (wanted.empty()) return text_length(self.string()) + 1;
  int64_t count = 0;
  for (size_t at = self.string().find(wanted); at != std::string::npos;
       at = self.string().find(wanted, at + wanted.size())) {
    ++count;
  }
  return count;
}

Value replace_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (!arguments.named.empty()) template_error("str.replace() takes no keyword arguments");
  const auto given = bind("replace", arguments, {"old", "new", "count"}, 2);
  const auto argument = [&](const Value& value) {
    const std::string& text = text_argument("replace", value);
    return self.is_markup() ? escaped(value) : text;
  };
  return replaced(runtime, self.string(), argument(*given[0]), argument(*given[1]),
                  given[2] ? integer_argument("replace", *given[2]) : -1);
}

Value join_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto given = bind("join", arguments, {"iterable"}, 1);
  std::string out;
  bool first = true;
  for (const auto& part : iterate(runtime, *given[0])) {
    const std::string& text = text_argument("join", part);
    runtime.charge(static_cast<int64_t>(text.size() + self.string().size()));
    if (!first) out += self.string();
    first = false;
    out += text;
  }
  return out;
}

// ljust, rjust, center and zfill.
template <char kind>
Value pad_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto given = bind("pad", arguments, {"width", "fillchar"}, 1);
  const std::string fill = kind == 'z' ? "0" : given[1] ? text_argument("pad", *given[1]) : " ";
  if (text_length(fill) != 1) template_error("the fill character must be one character");
  const std::string& text = self.string();
  const int64_t width = integer_argument("pad", *given[0]);
  const int64_t missing = std::max<int64_t>(0, width - text_length(text));
  runtime.charge(static_cast<int64_t>(text.size()) + std::min<int64_t>(missing, INT32_MAX) * 4);
  const int64_t left = kind == 'l'   ? 0
                       : kind == 'c' ? missing / 2 + (missing & width & 1)
                                     : missing;
  std::string out;
  const bool sign = kind == 'z' && (text.starts_with('-') || text.starts_with('+'));
  if (sign) out += text[0];
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += sign ? std::string_view(text).substr(1) : std::string_view(text);
  for (int64_t i = left; i < missing; ++i) out += fill;
  return out;
}

Value splitlines_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto given = bind("splitlines", arguments, {"keepends"});
  charge_lines(runtime, self.string());
  std::vector<Value> lines;
  for (auto& line : split_lines(self.string(), given[0] && given[0]->truthy())) {
    lines.emplace_back(std::move(line));
  }
  return runtime.list(std::move(lines));
}

// removeprefix and removesuffix.
template <bool prefix>
Value remove_affix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto given = bind("removeprefix", arguments, {"affix"}, 1);
  const std::string& affix = text_argument("removeprefix", *given[0]);
  std::string_view text = self.string();
  if (prefix && text.starts_with(affix)) text.remove_prefix(affix.size());
  if (!prefix && text.ends_with(affix)) text.remove_suffix(affix.size());
  return runtime.string(std::string(text));
}

template <bool from_right>
Value partition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto given = bind("partition", arguments, {"sep"}, 1);
  const std::string& separator = text_argument("partition", *given[0]);
  if (separator.empty()) template_error("empty separator");
  const std::string& text = self.string();
  const size_t at = from_right ? text.rfind(separator) : text.find(separator);
  std::vector<Value> parts = {text, "", ""};
  if (at == std::string::npos) {
    if (from_right) std::swap(parts[0], parts[2]);
  } else {
    parts = {text.substr(0, at), separator, text.substr(at + separator.size())};
  }
  runtime.charge(static_cast<int64_t>(text.size()));
  return runtime.list(std::move(parts), ListKind::Tuple);
}

// isdigit and the like: true if all characters match, and there is at least one.
template <bool (*matches)(char32_t)>
bool all_match(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (!matches(decode_utf8(text, i))) return false;
  }
  return !text.empty();
}
bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}
bool is_printable_text(std::string_view text) {
  return text.empty() || all_match<is_printable>(text);
}

template <bool (*holds)(std::string_view)>
Value ask_method(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  bind("str method", arguments, {});
  return holds(self.string());
}

Value expandtabs_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto given = bind("expandtabs", arguments, {"tabsize"});
  const int64_t width = given[0] ? integer_argument("expandtabs", *given[0]) : 8;
  const std::string& text = self.string();
  if (width > INT32_MAX || width < INT32_MIN)
    template_error("expandtabs(): {} is too large", width);
  const auto tabs = std::count(text.begin(), text.end(), '\t');
  runtime.charge(static_cast<int64_t>(text.size()));
  for (int64_t i = 0; i < tabs && width > 0; ++i) runtime.charge(width);
  return expand_tabs(text, width);
}

Value format_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return runtime.string(brace_format(runtime, self.string(), arguments));
}

Value get_method(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const auto given = bind("get", arguments, {"key", "default"}, 1);
  const Value* found = self.dict().find(*given[0]);
  return found != nullptr ? *found : given[1].value_or(Value());
}

Value items_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  bind("items", arguments, {});
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict().entries()) {
    items.push_back(runtime.list({key, value}, ListKind::Tuple));
  }
  return Value(std::move(items), ListKind::DictView, "dict_items");
}

Value keys_method(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  bind("keys", arguments, {});
  std::vector<Value> keys;
  for (const auto& [key, value] : self.dict().entries()) keys.push_back(key);
  return Value(std::move(keys), ListKind::DictView, "dict_keys");
}

Value values_method(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  bind("values", arguments, {});
  std::vector<Value> values;
  for (const auto& [key, value] : self.dict().entries()) values.push_back(value);
  return Value(std::move(values), ListKind::DictView, "dict_values");
}

Value copy_method(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  bind("copy", arguments, {});
  return self;  // immutable, so no copy is needed
}

Value list_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto given = bind("index", arguments, {"value"}, 1);
  const auto& items = self.list().items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (equal(runtime, items[i], *given[0])) return static_cast<int64_t>(i);
  }
  template_error("{} is not in list", to_repr(*given[0]));
}

Value list_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto given = bind("count", arguments, {"value"}, 1);
  const auto& items = self.list().items;
  return static_cast<int64_t>(std::count_if(items.begin(), items.end(), [&](const Value& other) {
    return equal(runtime, other, *given[0]);
  }));
}

struct Entry {
  std::string_view name;
  Method method;
};

constexpr Entry kText[] = {
    {"strip", strip_method<true, true>},
    {"lstrip", strip_method<true, false>},
    {"rstrip", strip_method<false, true>},
    {"upper", convert_method<upper>},
    {"lower", convert_method<lower>},
    {"capitalize", convert_method<capitalize>},
    {"title", convert_method<title>},
    {"swapcase", convert_method<swap_case>},
    {"casefold", convert_method<fold_case>},
    {"expandtabs", expandtabs_method},
    {"split", split_method<false>},
    {"rsplit", split_method<true>},
    {"splitlines", splitlines_method},
    {"ljust", pad_method<'l'>},
    {"rjust", pad_method<'r'>},
    {"center", pad_method<'c'>},
    {"zfill", pad_method<'z'>},
    {"startswith", affix_method<true>},
    {"endswith", affix_method<false>},
    {"find", find_method_of_text<false>},
    {"rfind", find_method_of_text<true>},
    {"index", index_method<false>},
    {"rindex", index_method<true>},
    {"count", count_text},
    {"replace", replace_method},
    {"join", join_method},
    {"format", format_method},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"isdigit", ask_method<all_match<is_digit>>},
    {"isnumeric", ask_method<all_match<is_numeric>>},
    {"isdecimal", ask_method<all_match<is_decimal>>},
    {"isalpha", ask_method<all_match<is_alpha>>},
    {"isalnum", ask_method<all_match<is_alnum>>},
    {"isspace", ask_method<all_match<is_space>>},
    {"isprintable", ask_method<is_printable_text>},
    {"isascii", ask_method<is_ascii>},
    {"islower", ask_method<is_lower_text>},
    {"isupper", ask_method<is_upper_text>},
    {"istitle", ask_method<is_title_text>},
};

constexpr Entry kDict[] = {
    {"get", get_method},        {"items", items_method},       {"keys", keys_method},
    {"values", values_method},  {"copy", copy_method},         {"update", refuse_change},
    {"pop", refuse_change},     {"setdefault", refuse_change}, {"clear", refuse_change},
    {"popitem", refuse_change},
};

constexpr Entry kList[] = {
    {"index", list_index},     {"count", list_count},     {"copy", copy_method},
    {"append", refuse_change}, {"extend", refuse_change}, {"insert", refuse_change},
    {"pop", refuse_change},    {"remove", refuse_change}, {"reverse", refuse_change},
    {"sort", refuse_change},   {"clear", refuse_change},
};

template <size_t N>
std::optional<Value> look_up(const Entry (&entries)[N], const Value& self, std::string_view name) {
  for (const auto& entry : entries) {
    if (entry.name == name) {
      return Value(
          std::static_pointer_cast<Object>(std::make_shared<BoundMethod>(self, entry.method)));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> find_method(const Value& object, std::string_view name) {
  if (object.is_string()) return look_up(kText, object, name);
  if (object.is_dict()) return look_up(kDict, object, name);
  if (object.is_list() && object.list().kind == ListKind::List) {
    return look_up(kList, object, name);
  }
  return std::nullopt;
}

}  // namespace pippin::chat
