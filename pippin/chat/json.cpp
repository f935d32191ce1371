#include "pippin/chat/json.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::chat {
namespace {

constexpr size_t kMaxDepth = 100;
constexpr size_t kMaxBytes = 16 << 20;

class Reader {
 public:
  using Json = nlohmann::json;
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  explicit Reader(std::string_view name) : name_(name) {}
  Value take() { return std::move(result_); }

  bool null() { return add(Value()); }
  bool boolean(bool flag) { return add(flag); }
  bool number_integer(number_integer_t number) { return add(int64_t{number}); }
  bool number_unsigned(number_unsigned_t number) {
    if (number <= static_cast<number_unsigned_t>(INT64_MAX)) {
      return add(static_cast<int64_t>(number));
    }
    return add(*BigInteger::parse(fmt::format("{}", number)));
  }
  // Also what 64 bits do not hold, which Python takes for an int unless it is written as a float.
  bool number_float(number_float_t number, const string_t& text) {
    if (text.find_first_of(".eE") != text.npos) return add(double{number});
    const auto integer = BigInteger::parse(text);
    if (!integer) {
      fail(ErrorCode::InvalidFile, "{}: a number of {} digits, at most {} are read", name_,
           text.size(), BigInteger::kMostDigits);
    }
    return add(*integer);
  }
  bool string(string_t& text) { return add(std::move(text)); }
  bool binary(binary_t& /*bytes*/) { return false; }
  bool start_object(size_t /*size*/) { return open(true); }
  bool key(string_t& text) {
    stack_.back().key = std::move(text);
    return true;
  }
  bool end_object() {
    Value made(std::move(stack_.back().dict));
    stack_.pop_back();
    return add(std::move(made));
  }
  bool start_array(size_t /*size*/) { return open(false); }
  bool end_array() {
    Value made(std::move(stack_.back().items));
    stack_.pop_back();
    return add(std::move(made));
  }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    fail(ErrorCode::InvalidFile, "{}: not valid JSON at byte {}: {}", name_, position,
         error.what());
  }

 private:
  struct Open {
    bool is_dict = false;
    Dict dict;
    std::vector<Value> items;
    std::string key;
  };
  bool open(bool is_dict) {
    if (stack_.size() >= kMaxDepth) {
      fail(ErrorCode::InvalidFile, "{}: more than {} levels of nesting", name_, kMaxDepth);
    }
    stack_.emplace_back().is_dict = is_dict;
    return true;
  }
  bool add(Value value) {
    if (stack_.empty()) {
      result_ = std::move(value);
    } else if (stack_.back().is_dict) {
      stack_.back().dict.set(Value(stack_.back().key), std::move(value));
    } else {
      stack_.back().items.push_back(std::move(value));
    }
    return true;
  }

  std::string_view name_;
  std::vector<Open> stack_;
  Value result_;
};

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
    if (++depth_ > kMaxDepth)
      fail(ErrorCode::LimitExceeded, "JSON of more than {} levels", kMaxDepth);
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

Value parse_json(std::string_view text, std::string_view name) {
  Reader reader(name);
  try {
    nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::InvalidFile, "{}: not valid JSON: {}", name, error.what());
  }
  return reader.take();
}

std::string to_json(const Value& value, const JsonStyle& style) {
  Writer writer(style);
  writer.write(value);
  return std::move(writer.out);
}

}  // namespace pippin::chat
