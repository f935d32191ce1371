// JSON as the rest of the project sees it: no third-party type in this header.
//
// Json is a cheap handle to a value inside an immutable document. Getters say what they expect, and
// an error names the file, the place and what was found:
//   config.json: rope_scaling.factor: expected a number, found "abc"
// Numbers never change their value on the way out: 1.5 or 2^63 is no int64_t, and an int is refused
// where it does not fit the range that the caller states; dump() writes all digits of an integer of
// any length. Objects keep the order of the file; of equal keys the last one counts, as in Python.
//
// JsonWriter builds text, in order, compact or indented.
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
  bool unique_keys = false;  // refuse an object that has a key twice
  // Accept what Python's json module writes for numbers that JSON lacks: Infinity, -Infinity and
  // NaN, and transformers 5's {"__float__": "Infinity"} for the same.
  bool python_numbers = false;
};

// The files of a model folder, which Python writes.
inline constexpr JsonLimits kPythonJson{.python_numbers = true};

class Json {
 public:
  enum class Type { Null, Bool, Integer, Float, String, Array, Object };

  // `name` starts every error message, of parsing and of the getters.
  static Json parse(std::string_view text, std::string name, const JsonLimits& limits = {});
  // The file's name without its folder starts the messages.
  static Json load(const std::filesystem::path& path, const JsonLimits& limits = {});

  Type type() const;
  bool is_null() const { return type() == Type::Null; }
  bool is_bool() const { return type() == Type::Bool; }
  bool is_integer() const { return type() == Type::Integer; }
  bool is_integer(int64_t min, int64_t max) const;  // whether as_int(min, max) gives it
  bool is_number() const { return type() == Type::Integer || type() == Type::Float; }
  bool is_string() const { return type() == Type::String; }
  bool is_array() const { return type() == Type::Array; }
  bool is_object() const { return type() == Type::Object; }

  // This value as what it has to be; each throws InvalidFile for another type.
  bool as_bool() const;
  int64_t as_int(int64_t min = std::numeric_limits<int64_t>::min(),
                 int64_t max = std::numeric_limits<int64_t>::max()) const;
  uint64_t as_uint64() const;
  double as_float() const;             // integers too
  std::string_view as_string() const;  // lives as long as any handle to the document
  std::vector<int64_t> as_ints() const;
  std::vector<double> as_floats() const;
  std::vector<std::string> as_strings() const;

  // Arrays and objects: the number of children.
  size_t size() const;
  Json at(size_t index) const;
  std::vector<Json> elements() const;

  // Objects. contains() is true for a key whose value is null; has() is not.
  bool contains(std::string_view key) const;
  bool has(std::string_view key) const;
  Json at(std::string_view key) const;                   // throws where the key is absent
  std::optional<Json> find(std::string_view key) const;  // nothing where it is absent or null
  std::vector<std::pair<std::string_view, Json>> members() const;
  std::vector<std::string> keys() const;

  // at(key).as_...(): the key has to be there.
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

  // The default where the key is absent or null; a wrong type still throws.
  bool get_bool_or(std::string_view key, bool fallback) const;
  int64_t get_int_or(std::string_view key, int64_t fallback) const;
  double get_float_or(std::string_view key, double fallback) const;
  std::string get_string_or(std::string_view key, std::string_view fallback) const;

  // The same, with the absence as a value.
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<int64_t> find_int(std::string_view key) const;
  std::optional<double> find_float(std::string_view key) const;
  std::optional<std::string> find_string(std::string_view key) const;

  // Text of this value: compact ("{"a":1}") with indent < 0, else one member a line.
  std::string dump(int indent = -1) const;

  // "config.json: rope_scaling.factor": for messages of callers that check more than the type. With
  // a key: the place of that member of this object, which need not be there.
  std::string where() const;
  std::string where(std::string_view key) const;
  // Throws InvalidFile: "config.json: rope_scaling.factor: " and what is wrong.
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
  JsonWriter& value(double number);          // NaN and infinities, which JSON lacks, become null
  JsonWriter& value(std::string_view text);  // bytes that are no UTF-8 become U+FFFD
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

  // Text that is JSON already, taken as it is.
  JsonWriter& raw(std::string_view text);

  // What was written. Every array and object has to be closed by then.
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
