// Filters that return or take single values: text, numbers, JSON.
#include <algorithm>
#include <cmath>

#include "pippin/base/numbers/number.h"
#include "pippin/base/text.h"
#include "pippin/chat/characters.h"
#include "pippin/chat/filters.h"
#include "pippin/chat/format.h"
#include "pippin/chat/json.h"
#include "pippin/chat/operators.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

int64_t integer(const std::optional<Value>& value, int64_t fallback) {
  if (!value) return fallback;
  require_defined(*value);
  if (!value->is_integer()) template_error("an integer is needed, not {}", value->type_name());
  return value->integer();
}

// Returns a filter's result: markup if its input is markup.
Value soft(Runtime& runtime, const Value& input, std::string text) {
  runtime.charge(static_cast<int64_t>(text.size()));
  return text_like(input, std::move(text));
}

template <std::string (*convert)(std::string_view)>
Value converted(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("filter", arguments, {});
  return soft(runtime, input, convert(to_text(input)));
}

Value string(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("string", arguments, {});
  return input.is_string() ? input : runtime.string(to_text(input));
}

bool ends_word(char32_t c) {
  return is_space(c) || std::u32string_view(U"-({[<").find(c) != std::u32string_view::npos;
}

// Capitalizes each word and lowercases the rest.
Value title_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("title", arguments, {});
  const std::string text = to_text(input);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const char32_t first = decode_utf8(text, i);
    append_upper(out, first);
    if (ends_word(first)) continue;
    const size_t rest = i;
    for (size_t next = i; i < text.size() && !ends_word(decode_utf8(text, next));) i = next;
    out += lower(std::string_view(text).substr(rest, i - rest));
  }
  return soft(runtime, input, std::move(out));
}

Value trim(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("trim", arguments, {"chars"});
  const bool all = !given[0] || given[0]->is_none();
  const std::string set = all ? "" : to_text(*given[0]);
  return soft(runtime, input, std::string(strip(to_text(input), all ? nullptr : &set, true, true)));
}

Value replace(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("replace", arguments, {"old", "new", "count"}, 2);
  const bool all = !given[2] || given[2]->is_none();
  return replaced(runtime, to_text(input), to_text(*given[0]), to_text(*given[1]),
                  all ? -1 : integer(given[2], -1));
}

Value default_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  const auto given = bind("default", arguments, {"default_value", "boolean"});
  const bool absent = input.is_undefined() || (flag(given[1], false) && !input.truthy());
  return absent ? given[0].value_or(Value("")) : input;
}

Value length_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  bind("length", arguments, {});
  const auto count = length(input);
  if (!count) template_error("object of type '{}' has no len()", input.type_name());
  return *count;
}

std::optional<double> parse_float(std::string_view text) {
  text = strip(text, nullptr, true, true);
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  return parse_number(text, number) ? std::optional(number) : std::nullopt;
}

Value to_integer(double number, const Value& fallback) {
  if (!std::isfinite(number)) return fallback;
  if (std::abs(number) >= 9e18) return *BigInteger::parse(fmt::format("{:.0f}", number));
  return static_cast<int64_t>(number);
}

Value int_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  const auto given = bind("int", arguments, {"default", "base"});
  Value fallback = given[0].value_or(Value(0));
  if (input.is_integer()) return input.integer();
  if (input.is_big()) return input;
  if (input.is(Type::Float)) return to_integer(input.number(), fallback);
  require_defined(input);
  if (!input.is_string()) return fallback;
  std::string_view text = strip(input.string(), nullptr, true, true);
  if (text.starts_with('+')) text.remove_prefix(1);
  const int64_t base = integer(given[1], 10);
  if (base < 2 || base > 36) return fallback;
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  if (const auto number = BigInteger::parse(text, static_cast<int>(base))) return *number;
  const auto real = parse_float(text);
  return real ? to_integer(*real, fallback) : fallback;
}

Value float_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  const auto given = bind("float", arguments, {"default"});
  if (input.is_number()) return input.number();
  require_defined(input);
  const auto real = input.is_string() ? parse_float(input.string()) : std::nullopt;
  return real ? Value(*real) : given[0].value_or(Value(0.0));
}

Value abs_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  bind("abs", arguments, {});
  require_defined(input);
  if (input.is(Type::Float)) return std::abs(input.number());
  if (input.is_big()) return input.big().text().starts_with('-') ? negate(input) : input;
  if (!input.is_integer()) template_error("bad operand type for abs(): '{}'", input.type_name());
  return input.integer() < 0 ? negate(input) : Value(input.integer());
}

Value round_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  const auto given = bind("round", arguments, {"precision", "method"});
  require_defined(input);
  if (!input.is_number()) template_error("a number is needed, not {}", input.type_name());
  const int64_t precision = integer(given[0], 0);
  const std::string method = given[1] ? to_text(*given[1]) : "common";
  if (std::abs(precision) > 300) template_error("a precision of {} digits", precision);
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.number() * scale;
  if (method == "ceil") return std::ceil(scaled) / scale;
  if (method == "floor") return std::floor(scaled) / scale;
  if (method != "common") template_error("method must be common, ceil or floor");
  if (precision >= 0 && precision <= 17) {  // through decimal text: exact, half to even
    const auto text = fmt::format("{:.{}f}", input.number(), precision);
    return *parse_float(text);
  }
  return std::nearbyint(scaled) / scale;
}

Value indent(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("indent", arguments, {"width", "first", "blank"});
  const bool by_text = given[0] && given[0]->is_string();
  const int64_t width = by_text ? 0 : integer(given[0], 4);
  if (width > 1000) template_error("an indent of {} characters", width);
  const std::string margin =
      by_text ? given[0]->string()
              : std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  const bool first = flag(given[1], false), blank = flag(given[2], false);
  charge_lines(runtime, to_text(input));
  const auto lines = split_lines(to_text(input) + "\n", false);
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i == 0 ? first : blank || !lines[i].empty()) {
      runtime.charge(static_cast<int64_t>(margin.size()));
      out += margin;
    }
    out += lines[i];
  }
  return runtime.string(std::move(out));
}

Value center(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("center", arguments, {"width"});
  const std::string text = to_text(input);
  const int64_t width = integer(given[0], 80);
  const int64_t missing = width - text_length(text);
  if (missing <= 0) return text;
  if (width > 10'000) template_error("a width of {} characters", width);
  const int64_t left = missing / 2 + (missing & width & 1);
  return runtime.string(std::string(static_cast<size_t>(left), ' ') + text +
                        std::string(static_cast<size_t>(missing - left), ' '));
}

Value truncate(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const std::string text = to_text(input);
  const std::string end = given[2] ? to_text(*given[2]) : "...";
  const int64_t most = integer(given[0], 255);
  if (text_length(text) <= most + integer(given[3], 5)) return text;
  const int64_t keep = std::max<int64_t>(0, most - text_length(end));
  std::string cut = text.substr(0, byte_offset(text, static_cast<size_t>(keep)));
  if (!flag(given[1], false)) cut = cut.substr(0, cut.rfind(' '));
  return runtime.string(cut + end);
}

Value wordcount(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("wordcount", arguments, {});
  charge_parts(runtime, to_text(input), nullptr);
  return static_cast<int64_t>(split(to_text(input), nullptr, -1, false).size());
}

Value safe(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("safe", arguments, {});
  if (input.is_markup()) return input;
  std::string text = to_text(input);
  runtime.charge(static_cast<int64_t>(text.size()));
  return Value::markup(std::move(text));
}

Value escape(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("escape", arguments, {});
  std::string text = escaped(input);
  runtime.charge(static_cast<int64_t>(text.size()));
  return Value::markup(std::move(text));
}

Value force_escape(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return escape(runtime, Value(to_text(input)), arguments);
}

Value urlencode(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("urlencode", arguments, {});
  if (input.is_list() || input.is_dict()) {
    template_error("urlencode of a {} is not supported", input.type_name());
  }
  std::string out;
  for (const char c : to_text(input)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("_.-~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return runtime.string(std::move(out));
}

Value format_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  std::vector<Value> values = arguments.positional;
  if (!arguments.named.empty()) {
    Dict named;
    for (const auto& [name, value] : arguments.named) named.set(Value(name), value);
    values = {Value(std::move(named))};
  }
  return runtime.string(percent_format(runtime, to_text(input), values));
}

Value attr(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given = bind("attr", arguments, {"name"}, 1);
  if (input.is_dict()) {  // only attributes: a dict's methods, never its keys
    Value found = attribute(runtime, Value(Dict()), to_text(*given[0]));
    return found.is_undefined() ? found : attribute(runtime, input, to_text(*given[0]));
  }
  return attribute(runtime, input, to_text(*given[0]));
}

// transformers' tojson: json.dumps without HTML escapes, keeps non-ASCII characters.
Value tojson(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given =
      bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = flag(given[0], false);
  style.sort_keys = flag(given[3], false);
  if (given[1] && !given[1]->is_none()) {
    if (given[1]->is_string()) {
      style.indent = given[1]->string();
    } else {
      const int64_t width = integer(given[1], 0);
      if (width > 100) template_error("an indent of {} characters", width);
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  if (given[2] && !given[2]->is_none()) {
    const auto parts = iterate(runtime, *given[2]);
    if (parts.size() != 2) template_error("separators are two strings");
    style.item_separator = to_text(parts[0]);
    style.key_separator = to_text(parts[1]);
  } else if (style.indent) {
    style.item_separator = ",";
  }
  return runtime.string(to_json(input, style));
}

constexpr FilterEntry kTextFilters[] = {
    {"string", string},
    {"safe", safe},
    {"upper", converted<upper>},
    {"lower", converted<lower>},
    {"capitalize", converted<capitalize>},
    {"title", title_filter},
    {"trim", trim},
    {"replace", replace},
    {"default", default_filter},
    {"d", default_filter},
    {"length", length_filter},
    {"count", length_filter},
    {"int", int_filter},
    {"float", float_filter},
    {"abs", abs_filter},
    {"round", round_filter},
    {"indent", indent},
    {"center", center},
    {"truncate", truncate},
    {"wordcount", wordcount},
    {"escape", escape},
    {"e", escape},
    {"forceescape", force_escape},
    {"urlencode", urlencode},
    {"format", format_filter},
    {"attr", attr},
    {"tojson", tojson},
};

}  // namespace

std::span<const FilterEntry> text_filters() {
  return kTextFilters;
}

}  // namespace pippin::chat
