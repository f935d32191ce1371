#include "pippin/chat/format.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pippin/chat/operators.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

constexpr int kMaxWidth = 1000;

// True for one-byte whitespace, and for every byte that may be part of wider whitespace.
bool is_blank(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte >= 0x80;
}

// Formats one field such as "%-5.2f", after its '%'; moves `i` past it.
std::string percent_field(std::string_view format, size_t& i, const Value& value) {
  bool left = false, zero = false, plus = false;
  for (; i < format.size(); ++i) {
    if (format[i] == '-') {
      left = true;
    } else if (format[i] == '0') {
      zero = true;
    } else if (format[i] == '+') {
      plus = true;
    } else {
      break;
    }
  }
  const auto number = [&](int fallback) {
    int result = fallback;
    while (i < format.size() && format[i] >= '0' && format[i] <= '9') {
      result = std::max(result, 0) * 10 + (format[i++] - '0');
      if (result > kMaxWidth) template_error("a format's width is too large");
    }
    return result;
  };
  const int width = number(0);
  int precision = -1;
  if (i < format.size() && format[i] == '.') {
    ++i;
    precision = number(0);
  }
  if (i >= format.size()) template_error("incomplete format");
  const char kind = format[i++];
  std::string text;
  switch (kind) {
    case 's':
    case 'r':
      text = kind == 's' ? to_text(value) : to_repr(value);
      if (precision >= 0) {
        text.resize(byte_offset(text, static_cast<size_t>(precision)));
      }
      zero = false;
      break;
    case 'd':
    case 'i':
      require_defined(value);
      if (!value.is_number()) {
        template_error("%{} format: a number is required, not {}", kind, value.type_name());
      }
      text = value.is(Type::Float) ? fmt::format("{:.0f}", std::trunc(value.number()))
             : value.is_big()      ? value.big().text()
                                   : fmt::format("{}", value.integer());
      break;
    case 'x':
    case 'X':
      if (!value.is_integer()) template_error("%x format: an integer is required");
      text =
          kind == 'x' ? fmt::format("{:x}", value.integer()) : fmt::format("{:X}", value.integer());
      break;
    case 'f':
    case 'e':
    case 'g':
      require_defined(value);
      if (!value.is_number()) template_error("must be real number, not {}", value.type_name());
      if (precision < 0) precision = 6;
      text = kind == 'f'   ? fmt::format("{:.{}f}", value.number(), precision)
             : kind == 'e' ? fmt::format("{:.{}e}", value.number(), precision)
                           : fmt::format("{:.{}g}", value.number(), precision);
      break;
    default:
      template_error("unsupported format character '{}'", kind);
  }
  if (plus && kind != 's' && kind != 'r' && !text.starts_with('-')) text.insert(0, 1, '+');
  const int64_t missing = width - text_length(text);
  if (missing > 0) {
    const auto count = static_cast<size_t>(missing);
    if (left) {
      text.append(count, ' ');
    } else if (zero) {
      const bool sign = text.starts_with('-') || text.starts_with('+');
      text.insert(sign ? 1 : 0, count, '0');
    } else {
      text.insert(0, count, ' ');
    }
  }
  return text;
}

}  // namespace

std::string percent_format(Runtime& runtime, std::string_view format,
                           const std::vector<Value>& values) {
  std::string out;
  size_t used = 0;
  const auto add = [&](const std::string& text) {
    runtime.charge(static_cast<int64_t>(text.size()));
    out += text;
  };
  for (size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      out += format[i++];
      continue;
    }
    ++i;
    if (i < format.size() && format[i] == '%') {
      out += '%';
      ++i;
      continue;
    }
    if (i < format.size() && format[i] == '(') {
      const size_t close = format.find(')', i);
      if (close == std::string_view::npos || values.size() != 1 || !values[0].is_dict()) {
        template_error("format requires a mapping");
      }
      const Value* found = values[0].dict().find(Value(format.substr(i + 1, close - i - 1)));
      if (found == nullptr) template_error("a format's key is missing");
      i = close + 1;
      used = values.size();
      add(percent_field(format, i, *found));
    } else {
      if (used >= values.size()) template_error("not enough arguments for format string");
      add(percent_field(format, i, values[used++]));
    }
    runtime.step();
  }
  if (used < values.size() && !(values.size() == 1 && values[0].is_dict())) {
    template_error("not all arguments converted during string formatting");
  }
  return out;
}

std::string brace_format(Runtime& runtime, std::string_view format, const Arguments& arguments) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size();) {
    const char c = format[i];
    if (c != '{' && c != '}') {
      out += c;
      ++i;
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == c) {
      out += c;
      i += 2;
      continue;
    }
    const size_t close = format.find('}', i);
    if (c == '}' || close == std::string_view::npos) template_error("single brace in a format");
    std::string_view field = format.substr(i + 1, close - i - 1);
    i = close + 1;
    if (field.ends_with(':')) field.remove_suffix(1);
    const bool digits =
        std::all_of(field.begin(), field.end(), [](char d) { return d >= '0' && d <= '9'; });
    const Value* value = nullptr;
    if (field.find_first_of(":.![") != std::string_view::npos || field.size() > 100) {
      template_error("the format field '{}' is not supported", field);
    } else if (digits) {
      const size_t index =
          field.empty() ? next++ : static_cast<size_t>(std::stoul(std::string(field.substr(0, 9))));
      if (index < arguments.positional.size()) value = &arguments.positional[index];
    } else {
      for (const auto& [name, given] : arguments.named) {
        if (name == field) value = &given;
      }
    }
    if (value == nullptr) template_error("a format has no argument for '{}'", field);
    const std::string text = to_text(*value);
    runtime.charge(static_cast<int64_t>(text.size()));
    out += text;
  }
  return out;
}

void charge_parts(Runtime& runtime, std::string_view text, const std::string* separator) {
  constexpr int64_t kPartBytes = 64;  // a string and its value
  int64_t parts = 1;
  if (separator == nullptr) {
    for (size_t i = 1; i < text.size(); ++i) {
      parts += is_blank(text[i]) && !is_blank(text[i - 1]) ? 1 : 0;
    }
  } else {
    for (size_t at = text.find(*separator); at != std::string_view::npos;
         at = text.find(*separator, at + separator->size())) {
      ++parts;
    }
  }
  runtime.charge(static_cast<int64_t>(text.size()) + kPartBytes * parts);
}

void charge_lines(Runtime& runtime, std::string_view text) {
  constexpr int64_t kLineBytes = 64;
  const auto ends =
      std::count_if(text.begin(), text.end(), [](char c) { return is_blank(c) && c != ' '; });
  runtime.charge(static_cast<int64_t>(text.size()) + kLineBytes * (1 + ends));
}

Value replaced(Runtime& runtime, std::string_view text, std::string_view from, std::string_view to,
               int64_t most) {
  // Charge the budget first: every match may grow.
  int64_t places = 0;
  if (from.empty()) {
    places = text_length(text) + 1;
  } else {
    for (size_t at = text.find(from); at != std::string_view::npos;
         at = text.find(from, at + from.size())) {
      ++places;
    }
  }
  int64_t growth = 0;
  if (__builtin_mul_overflow(places, static_cast<int64_t>(to.size()), &growth))
    growth = INT64_MAX / 2;
  runtime.charge(static_cast<int64_t>(text.size()) + growth);
  return replace_all(text, from, to, most);
}

}  // namespace pippin::chat
