#include "pippin/chat/json.h"

#include <algorithm>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/io/json.h"

namespace pippin::chat {
namespace {

constexpr size_t kMaxLevels = 100;
constexpr size_t kMaxBytes = 16 << 20;

Value value_of(const Json& json) {
  switch (json.type()) {
    case Json::Type::Null:
      return {};
    case Json::Type::Bool:
      return json.as_bool();
    case Json::Type::Integer:  // at most 309 digits: Json rejects integers beyond the range of
                               // double
      return *BigInteger::parse(json.dump());
    case Json::Type::Float:
      return json.as_float();
    case Json::Type::String:
      return json.as_string();
    case Json::Type::Array: {
      std::vector<Value> items;
      for (const Json& element : json.elements()) items.push_back(value_of(element));
      return items;
    }
    case Json::Type::Object: {
      Dict dict;
      for (const auto& [key, member] : json.members()) dict.set(key, value_of(member));
      return dict;
    }
  }
  return {};
}

class Writer {
 public:
  explicit Writer(const JsonStyle& style) : style_(style) {}

  void write(const Value& value) {
    if (out.size() > kMaxBytes)
      fail(ErrorCode::LimitExceeded, "JSON of more than {} bytes", kMaxBytes);
    switch (value.type()) {
      case Type::None:
        out += "null";
        break;
      case Type::Boolean:
        out += value.boolean() ? "true" : "false";
        break;
      case Type::Integer:
        out += fmt::format("{}", value.integer());
        break;
      case Type::BigInteger:
        out += value.big().text();
        break;
      case Type::Float:
        out += number(value.number());
        break;
      case Type::String:
        string(value.string());
        break;
      case Type::List:
        if (value.list().kind != ListKind::List && value.list().kind != ListKind::Tuple)
          refuse(value);
        list(value.list().items);
        break;
      case Type::Dict:
        dict(value.dict());
        break;
      default:
        refuse(value);
    }
  }

  std::string out;

 private:
  [[noreturn]] static void refuse(const Value& value) {
    fail(ErrorCode::InvalidArgument, "Object of type {} is not JSON serializable",
         value.type_name());
  }
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return float_repr(value);
  }

  void open(char bracket) {
    out += bracket;
    if (++depth_ > kMaxLevels)
      fail(ErrorCode::LimitExceeded, "JSON of more than {} levels", kMaxLevels);
  }
  void separate(bool first) {
    if (!first) {
      out += style_.indent ? "," : style_.item_separator;
      if (style_.indent && style_.item_separator != ", ")
        out.replace(out.size() - 1, 1, style_.item_separator);
    }
    new_line();
  }
  void new_line() {
    if (!style_.indent) return;
    out += '\n';
    for (size_t i = 0; i < depth_; ++i) out += *style_.indent;
  }
  void close(char bracket, bool empty) {
    --depth_;
    if (!empty) new_line();
    out += bracket;
  }

  void list(const std::vector<Value>& items) {
    open('[');
    for (size_t i = 0; i < items.size(); ++i) {
      separate(i == 0);
      write(items[i]);
    }
    close(']', items.empty());
  }

  void dict(const Dict& values) {
    std::vector<std::pair<std::string, const Value*>> entries;
    for (const auto& [key, value] : values.entries()) {
      if (key.is_string()) {
        entries.emplace_back(key.string(), &value);
      } else if (key.is_none()) {
        entries.emplace_back("null", &value);
      } else if (key.is(Type::Boolean)) {
        entries.emplace_back(key.boolean() ? "true" : "false", &value);
      } else if (key.is_number()) {
        entries.emplace_back(key.is(Type::Float) ? number(key.number()) : to_repr(key), &value);
      } else {
        fail(ErrorCode::InvalidArgument, "keys must be str, int, float, bool or None, not {}",
             key.type_name());
      }
    }
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    open('{');
    for (size_t i = 0; i < entries.size(); ++i) {
      separate(i == 0);
      string(entries[i].first);
      out += style_.key_separator;
      write(*entries[i].second);
    }
    close('}', entries.empty());
  }

  void string(std::string_view text) {
    out += '"';
    for (size_t i = 0; i < text.size();) {
      const char32_t c = decode_utf8(text, i);
      switch (c) {
        case '"':
          out += "\\\"";
          break;
        case '\\':
          out += "\\\\";
          break;
        case '\n':
          out += "\\n";
          break;
        case '\r':
          out += "\\r";
          break;
        case '\t':
          out += "\\t";
          break;
        case '\f':
          out += "\\f";
          break;
        case '\b':
          out += "\\b";
          break;
        default:
          if (c < 0x20 || (style_.ensure_ascii && c >= 0x7F && c < 0x10000)) {
            out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
          } else if (style_.ensure_ascii && c >= 0x10000) {
            const uint32_t v = static_cast<uint32_t>(c) - 0x10000;
            out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (v >> 10), 0xDC00 + (v & 0x3FF));
          } else {
            append_utf8(out, c);
          }
      }
    }
    out += '"';
  }

  const JsonStyle& style_;
  size_t depth_ = 0;
};

}  // namespace

Value parse_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  return value_of(Json::parse(text, std::string(name), limits));
}

std::string to_json(const Value& value, const JsonStyle& style) {
  Writer writer(style);
  writer.write(value);
  return std::move(writer.out);
}

}  // namespace pippin::chat
