#include "pippin/chat/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/chat/characters.h"

namespace pippin::chat {
namespace {

constexpr int kMaxNesting = 200;
// Shared parts count on each occurrence, so that small programs cannot make huge texts.
constexpr size_t kMaxReprBytes = 16 << 20;
constexpr size_t kMaxKeyBytes = 1 << 20;
constexpr int64_t kMaxComparisons = 1 << 20;

void check_nesting(int depth) {
  if (depth > kMaxNesting) {
    fail(ErrorCode::LimitExceeded, "values are nested more than {} deep", kMaxNesting);
  }
}

int checked_depth(int depth) {
  check_nesting(depth);
  return depth;
}

// Keys that Python considers equal give equal texts: 1, 1.0 and True are one key.
std::string key_text(const Value& key, int depth = 0) {
  check_nesting(depth);
  switch (key.type()) {
    case Type::String:
      return "s" + key.string();
    case Type::None:
      return "-";
    case Type::Boolean:
    case Type::Integer:
      return fmt::format("n{}", key.integer());
    case Type::Float: {
      const double number = key.number();
      if (number == std::floor(number) && std::abs(number) < 1e18) {
        return fmt::format("n{}", static_cast<int64_t>(number));
      }
      return "f" + float_repr(number);
    }
    case Type::BigInteger:
      return "n" + key.big().text();
    case Type::List:
      if (key.list().kind == ListKind::Tuple) {
        std::string text = "t";
        for (const auto& item : key.list().items) {
          const std::string part = key_text(item, depth + 1);
          text += fmt::format("{}:{}", part.size(), part);
          if (text.size() > kMaxKeyBytes)
            fail(ErrorCode::LimitExceeded, "a dict's key is too large");
        }
        return text;
      }
      break;
    default:
      break;
  }
  fail(ErrorCode::InvalidArgument, "unhashable type: '{}'", key.type_name());
}

bool equal_within(const Value& a, const Value& b, int depth, int64_t& comparisons) {
  check_nesting(depth);
  if (++comparisons > kMaxComparisons) {
    fail(ErrorCode::LimitExceeded, "values are too large to compare");
  }
  if (a.is_number() && b.is_number()) {
    if (a.is_integer() && b.is_integer()) return a.integer() == b.integer();
    if (a.is_big() && b.is_big()) return a.big().text() == b.big().text();
    if ((a.is_big() && b.is_integer()) || (a.is_integer() && b.is_big())) return false;
    return a.number() == b.number();
  }
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::Undefined:
    case Type::None:
      return true;
    case Type::String:
      if (a.string().size() != b.string().size()) return false;
      comparisons += static_cast<int64_t>(a.string().size() / 256);
      return a.string() == b.string();
    case Type::List: {
      if (&a.list() == &b.list()) return true;
      if (a.list().kind != b.list().kind || a.list().kind == ListKind::Generator) return false;
      const auto& x = a.list().items;
      const auto& y = b.list().items;
      return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                        [&](const Value& p, const Value& q) {
                          return equal_within(p, q, depth + 1, comparisons);
                        });
    }
    case Type::Dict: {
      if (a.dict().size() != b.dict().size()) return false;
      for (const auto& [key, value] : a.dict().entries()) {
        const Value* other = b.dict().find(key);
        if (other == nullptr || !equal_within(value, *other, depth + 1, comparisons)) return false;
      }
      return true;
    }
    case Type::Object:
      return a.object() == b.object();
    default:
      return false;
  }
}

std::string string_repr(std::string_view text) {
  const bool double_quotes =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out(1, quote);
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode_utf8(text, i);
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (!is_printable(c)) {
      const auto code = static_cast<uint32_t>(c);
      out += c < 0x100     ? fmt::format("\\x{:02x}", code)
             : c < 0x10000 ? fmt::format("\\u{:04x}", code)
                           : fmt::format("\\U{:08x}", code);
    } else {
      append_utf8(out, c);
    }
  }
  out += quote;
  return out;
}

void append_repr(std::string& out, const Value& value, int depth);

void append_joined(std::string& out, const std::vector<Value>& items, int depth) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(out, items[i], depth + 1);
  }
}

void append_list(std::string& out, const List& list, int depth) {
  switch (list.kind) {
    case ListKind::List:
      out += '[';
      append_joined(out, list.items, depth);
      out += ']';
      break;
    case ListKind::Tuple:
      out += '(';
      append_joined(out, list.items, depth);
      out += list.items.size() == 1 ? ",)" : ")";
      break;
    case ListKind::Generator:
      out += "<generator object>";
      break;
    case ListKind::DictView:
      out += list.view_name;
      out += "([";
      append_joined(out, list.items, depth);
      out += "])";
      break;
    case ListKind::Range: {
      const int64_t first = list.items.empty() ? 0 : list.items.front().integer();
      const int64_t last = list.items.empty() ? -1 : list.items.back().integer();
      out += fmt::format("range({}, {})", first, last + 1);
      break;
    }
  }
}

void append_repr(std::string& out, const Value& value, int depth) {
  check_nesting(depth);
  if (out.size() > kMaxReprBytes) fail(ErrorCode::LimitExceeded, "a value's text is too large");
  switch (value.type()) {
    case Type::Undefined:
      out += "Undefined";
      break;
    case Type::None:
      out += "None";
      break;
    case Type::Boolean:
      out += value.boolean() ? "True" : "False";
      break;
    case Type::Integer:
      out += fmt::format("{}", value.integer());
      break;
    case Type::BigInteger:
      out += value.big().text();
      break;
    case Type::Float:
      out += float_repr(value.number());
      break;
    case Type::String:
      out += value.is_markup() ? "Markup(" + string_repr(value.string()) + ")"
                               : string_repr(value.string());
      break;
    case Type::List:
      append_list(out, value.list(), depth);
      break;
    case Type::Dict: {
      out += '{';
      bool first = true;
      for (const auto& [key, item] : value.dict().entries()) {
        if (!first) out += ", ";
        first = false;
        append_repr(out, key, depth + 1);
        out += ": ";
        append_repr(out, item, depth + 1);
      }
      out += '}';
      break;
    }
    case Type::Object:
      out += fmt::format("<{}>", value.object()->type_name());
      break;
  }
}

}  // namespace

Value::Value(std::vector<Value> items, ListKind kind, const char* view_name)
    : data_(std::make_shared<List>()) {
  List& list = mutable_list();
  list.depth = depth_around(items);
  list.items = std::move(items);
  list.kind = kind;
  list.view_name = view_name;
}

Value::Value(const BigInteger& number) {
  if (const auto small = number.small()) {
    data_ = *small;
  } else {
    data_ = std::make_shared<const BigInteger>(number);
  }
}

Value::Value(Dict dict) : data_(std::make_shared<const Dict>(std::move(dict))) {}

Value Value::markup(std::string text) {
  Value value;
  value.data_ = std::make_shared<const Text>(Text{std::move(text), true});
  return value;
}

Value Value::undefined(std::string what) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(std::move(what))};
  return value;
}

const std::string& Value::undefined_text() const {
  return *std::get<Undefined>(data_).what;
}

int Value::depth() const {
  switch (type()) {
    case Type::List:
      return list().depth;
    case Type::Dict:
      return dict().depth();
    case Type::Object:
      return object()->depth();
    default:
      return 0;
  }
}

int depth_around(const std::vector<Value>& values) {
  int deepest = 0;
  for (const auto& value : values) deepest = std::max(deepest, value.depth());
  return checked_depth(deepest + 1);
}

bool Value::truthy() const {
  switch (type()) {
    case Type::Undefined:
    case Type::None:
      return false;
    case Type::Boolean:
      return boolean();
    case Type::Integer:
      return integer() != 0;
    case Type::Float:
      return number() != 0;
    case Type::String:
      return !string().empty();
    case Type::List:
      return list().kind == ListKind::Generator || !list().items.empty();
    case Type::Dict:
      return dict().size() > 0;
    case Type::Object:
    case Type::BigInteger:  // 0 would fit 64 bits
      return true;
  }
  return false;
}

std::string Value::type_name() const {
  switch (type()) {
    case Type::Undefined:
      return "Undefined";
    case Type::None:
      return "NoneType";
    case Type::Boolean:
      return "bool";
    case Type::Integer:
    case Type::BigInteger:
      return "int";
    case Type::Float:
      return "float";
    case Type::String:
      return "str";
    case Type::List:
      switch (list().kind) {
        case ListKind::List:
          return "list";
        case ListKind::Tuple:
          return "tuple";
        case ListKind::Generator:
          return "generator";
        case ListKind::DictView:
          return list().view_name;
        case ListKind::Range:
          return "range";
      }
      return "list";
    case Type::Dict:
      return "dict";
    case Type::Object:
      return object()->type_name();
  }
  return "";
}

Dict::Dict(std::initializer_list<std::pair<Value, Value>> entries) {
  for (const auto& [key, value] : entries) set(key, value);
}

const Value* Dict::find(const Value& key) const {
  const auto found = index_.find(key_text(key));
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

void Dict::set(const Value& key, Value value) {
  depth_ = std::max(depth_, checked_depth(value.depth() + 1));
  const auto [place, fresh] = index_.try_emplace(key_text(key), entries_.size());
  if (fresh) {
    entries_.emplace_back(key, std::move(value));
  } else {
    entries_[place->second].second = std::move(value);
  }
}

std::optional<Value> Object::attribute(Runtime& /*runtime*/, std::string_view /*name*/) {
  return std::nullopt;
}

Value Object::call(Runtime& /*runtime*/, const Arguments& /*arguments*/) {
  fail(ErrorCode::InvalidArgument, "'{}' object is not callable", type_name());
}

bool equal(const Value& a, const Value& b, int64_t& cost) {
  int64_t comparisons = 0;
  const bool result = equal_within(a, b, 0, comparisons);
  cost += comparisons;
  return result;
}

std::string escaped(const Value& text) {
  if (text.is_markup()) return text.string();
  std::string out;
  for (const char c : to_text(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Value text_like(const Value& like, std::string text) {
  return like.is_markup() ? Value::markup(std::move(text)) : Value(std::move(text));
}

std::string to_text(const Value& value) {
  if (value.is_string()) return value.string();
  if (value.is_undefined()) return "";
  return to_repr(value);
}

std::string to_repr(const Value& value) {
  std::string out;
  append_repr(out, value, 0);
  return out;
}

std::string float_repr(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char buffer[64];
  const double size = std::abs(number);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace pippin::chat
