// Filters for layout: HTML, lines, sizes, pretty-printing.
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "pippin/chat/filters.h"
#include "pippin/chat/format.h"
#include "pippin/chat/html_text.h"
#include "pippin/chat/operators.h"
#include "pippin/chat/pretty.h"
#include "pippin/chat/text.h"
#include "pippin/chat/word_wrap.h"

namespace pippin::chat {
namespace {

Value striptags(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("striptags", arguments, {});
  return runtime.string(strip_tags(to_text(input)));
}

Value wordwrap(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const auto given =
      bind("wordwrap", arguments, {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  require_defined(input);
  if (!input.is_string()) {
    template_error("'{}' object has no attribute 'splitlines'", input.type_name());
  }
  const Value separator = given[2] && !given[2]->is_none() ? *given[2] : Value("\n");
  if (!separator.is_string()) template_error("wordwrap() wrapstring must be str");
  WrapOptions options{79, flag(given[1], true), flag(given[3], true)};
  if (given[0]) {
    if (!given[0]->is_integer()) {
      template_error("wordwrap() width must be int, not {}", given[0]->type_name());
    }
    options.width = given[0]->integer();
  }
  const std::string& text = input.string();
  charge_lines(runtime, text);
  runtime.charge(static_cast<int64_t>(text.size()) * 16);  // code points of words
  std::string out;
  bool first = true;
  for (const auto& line : split_lines(text, false)) {
    if (options.width <= 0) template_error("invalid width {} (must be > 0)", options.width);
    std::vector<std::string> parts = wrap_words(line, options);
    if (parts.empty()) parts.emplace_back();
    for (const auto& part : parts) {
      runtime.charge(static_cast<int64_t>(part.size() + separator.string().size()));
      if (!first) out += separator.string();
      first = false;
      out += separator.is_markup() ? escaped(Value(part)) : part;
    }
  }
  return text_like(separator, std::move(out));
}

// Like Python's float(), which also accepts texts.
double real(Runtime& runtime, const Value& input) {
  require_defined(input);
  if (input.is_number()) {
    const double number = input.number();
    if (!input.is(Type::Float) && !std::isfinite(number)) {
      template_error("int too large to convert to float");
    }
    return number;
  }
  if (!input.is_string()) {
    template_error("float() argument must be a string or a real number, not '{}'",
                   input.type_name());
  }
  const Value number = runtime.filter("float", input, {{Value()}, {}});
  if (number.is_none()) template_error("could not convert string to float: {}", to_repr(input));
  return number.number();
}

Value filesizeformat(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const bool binary = flag(bind("filesizeformat", arguments, {"binary"})[0], false);
  const double bytes = real(runtime, input);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return "1 Byte";
  if (bytes < base) {
    if (std::isinf(bytes)) template_error("cannot convert float infinity to integer");
    return fmt::format("{:.0f} Bytes", std::trunc(bytes) + 0.0);
  }
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  constexpr double kDecimal[] = {1e6, 1e9, 1e12, 1e15, 1e18, 1e21, 1e24, 1e27};
  const auto unit = [&](size_t index) {
    return binary ? std::ldexp(1.0, 10 * (static_cast<int>(index) + 2)) : kDecimal[index];
  };
  size_t i = 0;
  const auto is_below = [&](size_t index) {  // Python compares with the integer
    return bytes < unit(index) ||
           (!binary && index == 6 && bytes == 1e24);  // slightly less than 10^24
  };
  while (i + 1 < kPrefixes.size() && !is_below(i)) ++i;
  const char prefix = binary && i == 0 ? 'K' : kPrefixes[i];
  const double number = base * bytes / unit(i);
  const std::string digits = std::isnan(number) ? "nan" : fmt::format("{:.1f}", number);
  return fmt::format("{} {}{}", digits, prefix, binary ? "iB" : "B");
}

Value xmlattr(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const bool autospace = flag(bind("xmlattr", arguments, {"autospace"})[0], true);
  require_defined(input);
  if (!input.is_dict()) template_error("'{}' object has no attribute 'items'", input.type_name());
  std::string out;
  for (const auto& [key, value] : input.dict().entries()) {
    if (value.is_none() || value.is_undefined()) continue;
    if (!key.is_string())
      template_error("an attribute's name must be str, not {}", key.type_name());
    if (key.string().find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      template_error("Invalid character in attribute name: {}", to_repr(key));
    }
    const std::string one = fmt::format("{}=\"{}\"", escaped(key), escaped(value));
    runtime.charge(static_cast<int64_t>(one.size()));
    if (autospace || !out.empty()) out += ' ';
    out += one;
  }
  return out;
}

Value pprint(Runtime& runtime, const Value& input, const Arguments& arguments) {
  bind("pprint", arguments, {});
  return pretty(runtime, input);
}

constexpr FilterEntry kLayoutFilters[] = {
    {"striptags", striptags}, {"wordwrap", wordwrap}, {"filesizeformat", filesizeformat},
    {"xmlattr", xmlattr},     {"pprint", pprint},
};

}  // namespace

std::span<const FilterEntry> layout_filters() {
  return kLayoutFilters;
}

}  // namespace pippin::chat
