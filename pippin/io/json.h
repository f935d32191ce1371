// JSON for the rest of the project; this header exposes no third-party type.
//
// Json is a cheap handle to a value in an immutable document. Getters state the expected type;
// errors name the file, the location and the value found:
//   config.json: rope_scaling.factor: expected a number, found "abc"
// Getters never change a number's value: 1.5 or 2^63 is not an int64_t, and integers outside the
// caller's range are rejected. dump() writes all digits of an integer of any length. Objects keep
// the order of the file; the last of equal keys counts, as in Python.
//
// JsonWriter builds text sequentially, compact or indented.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pippin {

struct JsonNode;  // the tree, in json_node.h
struct JsonDocument;

struct JsonLimits {
  size_t max_bytes = size_t{256} << 20;
  size_t max_values = size_t{10} << 20;  // a value takes more memory than its shortest text
  int max_depth = 100;
  bool unique_keys = false;  // reject objects with repeated keys
  // Accept the spellings of Python's json module for numbers that JSON lacks: Infinity, -Infinity
  // and NaN, and transformers 5's {"__float__": "Infinity"}.
  bool python_numbers = false;
};

// For the files of a model folder, which Python writes.
inline constexpr JsonLimits kPythonJson{.python_numbers = true};

class Json {
 public:
  enum class Type { Null, Bool, Integer, Float, String, Array, Object };

  // `name` starts all error messages, of parsing and of the getters.
  static Json parse(std::string_view text, std::string name, const JsonLimits& limits = {});
  // The file name without its folder starts the messages.
  static Json load(const std::filesystem::path& path, const JsonLimits& limits = {});

  Type type() const;
  bool is_null() const { return type() == Type::Null; }
  bool is_bool() const { return type() == Type::Bool; }
  bool is_integer() const { return type() == Type::Integer; }
  bool is_integer(int64_t min, int64_t max) const;  // whether as_int(min, max) succeeds
  bool is_number() const { return type() == Type::Integer || type() == Type::Float; }
  bool is_string() const { return type() == Type::String; }
  bool is_array() const { return type() == Type::Array; }
  bool is_object() const { return type() == Type::Object; }

  // The value as a given type; each throws InvalidFile for other types.
  bool as_bool() const;
  int64_t as_int(int64_t min = std::numeric_limits<int64_t>::min(),
                 int64_t max = std::numeric_limits<int64_t>::max()) const;
  uint64_t as_uint64() const;
  double as_float() const;             // also for integers
  std::string_view as_string() const;  // valid as long as any handle to the document
  std::vector<int64_t> as_ints() const;
  std::vector<double> as_floats() const;
  std::vector<std::string> as_strings() const;

  // For arrays and objects: the number of children.
  size_t size() const;
  Json at(size_t index) const;
  std::vector<Json> elements() const;

  // For objects. contains() is true for a key whose value is null; has() is not.
  bool contains(std::string_view key) const;
  bool has(std::string_view key) const;
  Json at(std::string_view key) const;                   // throws if the key is missing
  std::optional<Json> find(std::string_view key) const;  // nothing if the key is missing or null
  std::vector<std::pair<std::string_view, Json>> members() const;
  std::vector<std::string> keys() const;

  // Same as at(key).as_...(); the key must exist.
  bool get_bool(std::string_view key) const { return at(key).as_bool(); }
  int64_t get_int(std::string_view key) const { return at(key).as_int(); }
  int64_t get_int_between(std::string_view key, int64_t min, int64_t max) const {
    return at(key).as_int(min, max);
  }
  double get_float(std::string_view key) const { return at(key).as_float(); }
  std::string get_string(std::string_view key) const { return std::string(at(key).as_string()); }
  std::vector<int64_t> get_ints(std::string_view key) const { return at(key).as_ints(); }
  std::vector<double> get_floats(std::string_view key) const { return at(key).as_floats(); }
  std::vector<std::string> get_strings(std::string_view key) const { return at(key).as_strings(); }

  // Return the default if the key is missing or null; a wrong type still throws.
  bool get_bool_or(std::string_view key, bool fallback) const;
  int64_t get_int_or(std::string_view key, int64_t fallback) const;
  double get_float_or(std::string_view key, double fallback) const;
  std::string get_string_or(std::string_view key, std::string_view fallback) const;

  // Return nothing if the key is missing or null.
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<int64_t> find_int(std::string_view key) const;
  std::optional<double> find_float(std::string_view key) const;
  std::optional<std::string> find_string(std::string_view key) const;

  // Returns the text of this value: compact ("{"a":1}") if indent < 0, else one member per line.
  std::string dump(int indent = -1) const;

  // Returns "config.json: rope_scaling.factor", for messages of callers with further checks. With a
  // key: the location of that member of this object, which may be missing.
  std::string where() const;
  std::string where(std::string_view key) const;
  // Throws InvalidFile: "config.json: rope_scaling.factor: " followed by `what`.
  [[noreturn]] void invalid(std::string_view what) const;

 private:
  friend class JsonWriter;
  Json(std::shared_ptr<const JsonDocument> document, const JsonNode* node);
  const JsonNode* lookup(std::string_view key) const;
  [[noreturn]] void fail_type(std::string_view expected) const;

  std::shared_ptr<const JsonDocument> document_;
  const JsonNode* node_;
};

class JsonWriter {
 public:
  explicit JsonWriter(int indent = -1) : indent_(indent) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::nullptr_t);
  JsonWriter& value(bool flag);
  JsonWriter& value(double number);          // writes null for NaN and infinities, which JSON lacks
  JsonWriter& value(std::string_view text);  // replaces invalid UTF-8 with U+FFFD
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const Json& json);
  template <std::integral T>
  JsonWriter& value(T number) {
    if constexpr (std::is_signed_v<T>) return signed_value(number);
    return unsigned_value(static_cast<uint64_t>(number));
  }
  template <typename T>
  JsonWriter& value(const std::vector<T>& items) {
    begin_array();
    for (const auto& item : items) value(static_cast<const T&>(item));
    return end_array();
  }

  template <typename T>
  JsonWriter& member(std::string_view name, const T& content) {
    key(name);
    return value(content);
  }

  // Inserts text that is already JSON.
  JsonWriter& raw(std::string_view text);

  // Returns the text. Every array and object must be closed.
  const std::string& text() const;

 private:
  JsonWriter& signed_value(int64_t number);
  JsonWriter& unsigned_value(uint64_t number);
  void separate();
  void open(char bracket);
  void close(char bracket);
  void quote(std::string_view text);
  void node(const JsonNode& node);

  struct Level {
    bool object;
    bool empty;
  };
  std::string text_;
  int indent_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace pippin
