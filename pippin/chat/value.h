// Values of the template language, with Python's semantics.
//
// A Value is small and cheap to copy; its content is shared. Templates cannot modify lists or dicts
// (the sandbox forbids it), so sharing is not visible, except for namespaces.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "pippin/chat/big_integer.h"

namespace pippin::chat {

class Value;
class Dict;
class Object;

enum class ListKind { List, Tuple, Generator, DictView, Range };

// Python's sequences, and iterables: a generator can be iterated once.
struct List {
  std::vector<Value> items;
  ListKind kind = ListKind::List;
  const char* view_name = "";  // "dict_items" and so on
  int depth = 1;               // nesting depth, which is bounded so that destruction does not
                               // recurse too deep
};

// BigInteger: a Python int that does not fit 64 bits.
enum class Type {
  Undefined,
  None,
  Boolean,
  Integer,
  Float,
  String,
  List,
  Dict,
  Object,
  BigInteger
};

class Value {
 public:
  Value() = default;  // None
  // NOLINTBEGIN(google-explicit-constructor): numbers, texts and lists are values
  Value(std::nullptr_t) {}
  Value(std::same_as<bool> auto flag) : data_(bool{flag}) {}
  Value(int number) : data_(int64_t{number}) {}
  Value(int64_t number) : data_(number) {}
  Value(const BigInteger& number);  // becomes an Integer if it fits 64 bits
  Value(double number) : data_(number) {}
  Value(std::string text) : data_(std::make_shared<const Text>(Text{std::move(text), false})) {}
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  Value(std::vector<Value> items, ListKind kind = ListKind::List, const char* view_name = "");
  Value(Dict dict);
  Value(std::shared_ptr<Object> object) : data_(std::move(object)) {}
  // NOLINTEND(google-explicit-constructor)

  // Text that passed the "safe" filter; text added to it is escaped for HTML.
  static Value markup(std::string text);
  // A name without a value; `what` describes it in errors: "'x' is undefined".
  static Value undefined(std::string what);

  Type type() const { return static_cast<Type>(data_.index()); }
  bool is(Type wanted) const { return type() == wanted; }
  bool is_undefined() const { return is(Type::Undefined); }
  bool is_none() const { return is(Type::None); }
  bool is_string() const { return is(Type::String); }
  bool is_integer() const { return is(Type::Integer) || is(Type::Boolean); }  // as in Python
  bool is_big() const { return is(Type::BigInteger); }
  bool is_number() const { return is_integer() || is(Type::Float) || is_big(); }
  bool is_list() const { return is(Type::List); }
  bool is_dict() const { return is(Type::Dict); }

  // The value must have the named type.
  bool boolean() const { return std::get<bool>(data_); }
  int64_t integer() const {
    return is(Type::Boolean) ? int64_t{boolean()} : std::get<int64_t>(data_);
  }
  const BigInteger& big() const { return *std::get<std::shared_ptr<const BigInteger>>(data_); }
  double number() const {
    if (is_big()) return big().number();
    return is(Type::Float) ? std::get<double>(data_) : static_cast<double>(integer());
  }
  const std::string& string() const { return std::get<std::shared_ptr<const Text>>(data_)->text; }
  bool is_markup() const {
    return is_string() && std::get<std::shared_ptr<const Text>>(data_)->markup;
  }
  const List& list() const { return *std::get<std::shared_ptr<List>>(data_); }
  List& mutable_list() const { return *std::get<std::shared_ptr<List>>(data_); }
  const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
  const std::shared_ptr<Object>& object() const { return std::get<std::shared_ptr<Object>>(data_); }
  const std::string& undefined_text() const;

  bool truthy() const;
  int depth() const;
  // Returns Python's name of the type: "str", "NoneType".
  std::string type_name() const;

 private:
  struct Text {
    std::string text;
    bool markup;
  };
  struct Undefined {
    std::shared_ptr<const std::string> what;
  };
  // In the order of Type, except for None, the default.
  std::variant<Undefined, std::monostate, bool, int64_t, double, std::shared_ptr<const Text>,
               std::shared_ptr<List>, std::shared_ptr<const Dict>, std::shared_ptr<Object>,
               std::shared_ptr<const BigInteger>>
      data_ = std::monostate();
};

// Keeps insertion order. Keys are Python's hashable values, mostly strings and numbers.
class Dict {
 public:
  Dict() = default;
  Dict(std::initializer_list<std::pair<Value, Value>> entries);

  const Value* find(const Value& key) const;
  void set(const Value& key, Value value);
  size_t size() const { return entries_.size(); }
  int depth() const { return depth_; }
  const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<Value, Value>> entries_;
  std::unordered_map<std::string, size_t> index_;
  int depth_ = 1;
};

// Returns one more than the depth of the deepest value. Throws Error(LimitExceeded) above the limit
// for Values.
int depth_around(const std::vector<Value>& values);

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Runtime;

// Values that are not data: functions, macros, loops, namespaces.
class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  virtual int depth() const { return 1; }
  virtual std::string type_name() const = 0;
  virtual std::optional<Value> attribute(Runtime& runtime, std::string_view name);
  virtual bool callable() const { return false; }
  virtual Value call(Runtime& runtime, const Arguments& arguments);
};

// Adds the number of visited values and blocks of 256 bytes to `cost`. Throws Error(LimitExceeded)
// if values are nested too deep.
bool equal(const Value& a, const Value& b, int64_t& cost);
// Python's str() and repr().
std::string to_text(const Value& value);
std::string to_repr(const Value& value);
std::string float_repr(double number);
// Escapes for HTML; markup stays unchanged.
std::string escaped(const Value& text);
// Returns `text` as markup if `like` is markup, else as plain text.
Value text_like(const Value& like, std::string text);

}  // namespace pippin::chat
