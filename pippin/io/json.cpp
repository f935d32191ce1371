#include "pippin/io/json.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/numbers/number.h"
#include "pippin/io/json_node.h"

namespace pippin {
namespace {

constexpr std::string_view kFloatKey = "__float__";
constexpr std::pair<std::string_view, double> kPythonNumbers[] = {
    {"-Infinity", -std::numeric_limits<double>::infinity()},
    {"Infinity", std::numeric_limits<double>::infinity()},
    {"NaN", std::numeric_limits<double>::quiet_NaN()},
};

constexpr size_t kShownText = 60;  // of a key or value that an error message quotes

std::string shown(std::string_view text) {
  std::string result = "\"";
  size_t length = std::min(text.size(), kShownText);
  while (length < text.size() && length > 0 && (text[length] & 0xC0) == 0x80) --length;
  for (const char c : text.substr(0, length))
    result += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  return result + (length < text.size() ? "...\"" : "\"");
}

// ---- Parsing: nlohmann's parser calls these. The tree is our own, because nlohmann's ordered
// object looks up keys linearly, which is too slow for a vocabulary of 100,000 entries.

using Node = JsonNode;

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(Node& root, std::string_view text, const std::string& name, const JsonLimits& limits)
      : root_(root), text_(text), name_(name), limits_(limits) {}

  bool null() override { return add(Node{}); }
  bool boolean(bool flag) override { return add(Node{flag}); }
  bool number_integer(int64_t number) override { return add(Node{number}); }
  bool number_unsigned(uint64_t number) override {
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return add(Node{number});
    }
    return add(Node{static_cast<int64_t>(number)});
  }
  // Also called for an integer that does not fit 64 bits.
  bool number_float(double number, const std::string& text) override {
    if (text.find_first_of(".eE") != text.npos) return add(Node{number});
    return add(Node{Node::BigInteger{text}});
  }
  bool string(std::string& text) override { return add(Node{std::move(text)}); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Node{Node::Object{}}); }
  bool start_array(size_t) override { return open(Node{Node::Array{}}); }
  bool key(std::string& text) override {
    auto& members = std::get<Node::Object>(stack_.back()->value).members;
    members.push_back({std::move(text), Node{}});
    return true;
  }
  bool end_array() override {
    stack_.pop_back();
    return true;
  }
  bool end_object() override {
    auto& object = std::get<Node::Object>(stack_.back()->value);
    if (const auto number = python_number(object)) {
      stack_.back()->value = *number;
    } else {
      index(object);
    }
    stack_.pop_back();
    return true;
  }
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    // nlohmann's text is "[json.exception...] parse error at line 1, column 2: syntax error ...".
    std::string_view what = error.what();
    for (const std::string_view before : {"] ", "parse error at line ", ": "}) {
      const size_t at = what.find(before);
      if (at == what.npos) break;
      what.remove_prefix(at + before.size());
    }
    if (const size_t at = what.find("; last read"); at != what.npos) what = what.substr(0, at);
    const std::string_view read = text_.substr(0, position);  // up to the invalid byte
    fail(ErrorCode::InvalidFile,
         "{}: not valid JSON at byte {} (line {}, column {}): {}; last read {}", name_, position,
         1 + std::count(read.begin(), read.end(), '\n'),
         read.size() - (read.rfind('\n') + 1),  // npos + 1 is 0
         what.substr(0, 200), shown(token));
  }

 private:
  Node* place(Node&& node) {
    if (++values_ > limits_.max_values) {
      fail(ErrorCode::LimitExceeded, "{}: more than {} JSON values", name_, limits_.max_values);
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      return &root_;
    }
    if (auto* array = std::get_if<Node::Array>(&stack_.back()->value)) {
      array->push_back(std::move(node));
      return &array->back();
    }
    Node& slot = std::get<Node::Object>(stack_.back()->value).members.back().value;
    slot = std::move(node);
    return &slot;
  }
  bool add(Node&& node) {
    place(std::move(node));
    return true;
  }
  // Pointers on the stack stay valid: a container grows only while it is on top.
  bool open(Node&& node) {
    if (stack_.size() >= static_cast<size_t>(limits_.max_depth)) {
      fail(ErrorCode::LimitExceeded, "{}: JSON nested deeper than {} levels", name_,
           limits_.max_depth);
    }
    stack_.push_back(place(std::move(node)));
    return true;
  }

  // Returns the number that an object represents (JsonLimits::python_numbers).
  std::optional<double> python_number(const Node::Object& object) const {
    if (!limits_.python_numbers || object.members.size() != 1) return std::nullopt;
    const auto& [key, value] = object.members.front();
    const auto* const text = std::get_if<std::string>(&value.value);
    if (key != kFloatKey || text == nullptr) return std::nullopt;
    for (const auto& [name, number] : kPythonNumbers) {
      if (name == *text) return number;
    }
    return std::nullopt;
  }

  // Sorts the keys for lookup and merges equal ones: the last value, at the position of the first.
  void index(Node::Object& object) {
    auto& members = object.members;
    if (members.size() > std::numeric_limits<uint32_t>::max()) {
      fail(ErrorCode::LimitExceeded, "{}: an object of {} members", name_, members.size());
    }
    std::vector<uint32_t> order(members.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto less = [&](uint32_t a, uint32_t b) {
      const int compared = members[a].key.compare(members[b].key);
      return compared != 0 ? compared < 0 : a < b;
    };
    std::sort(order.begin(), order.end(), less);
    std::vector<bool> dropped(members.size(), false);
    bool any = false;
    for (size_t first = 0, i = 1; i < order.size(); ++i) {
      if (members[order[i]].key != members[order[first]].key) {
        first = i;
        continue;
      }
      if (limits_.unique_keys) {
        fail(ErrorCode::InvalidFile, "{}: the key {} occurs twice in one object", name_,
             shown(members[order[i]].key));
      }
      members[order[first]].value = std::move(members[order[i]].value);
      dropped[order[i]] = any = true;
    }
    if (any) {
      std::vector<Node::Member> kept;
      for (size_t i = 0; i < members.size(); ++i) {
        if (!dropped[i]) kept.push_back(std::move(members[i]));
      }
      members = std::move(kept);
      order.resize(members.size());
      std::iota(order.begin(), order.end(), 0u);
      std::sort(order.begin(), order.end(), less);
    }
    object.order = std::move(order);
  }

  Node& root_;
  std::string_view text_;
  const std::string& name_;
  const JsonLimits& limits_;
  size_t values_ = 0;
  std::vector<Node*> stack_;
};

// Replaces Infinity with {"__float__": "Infinity"}, and so on, which Builder reads as numbers.
std::string without_python_numbers(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\' && i + 1 < text.size()) {
      result += text.substr(i++, 2);
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    const auto* const number = std::find_if(
        std::begin(kPythonNumbers), std::end(kPythonNumbers),
        [&](const auto& one) { return !in_string && text.substr(i).starts_with(one.first); });
    if (number != std::end(kPythonNumbers)) {
      result += fmt::format(R"({{"{}":"{}"}})", kFloatKey, number->first);
      i += number->first.size() - 1;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

Json::Json(std::shared_ptr<const JsonDocument> document, const Node* node)
    : document_(std::move(document)), node_(node) {}

Json Json::parse(std::string_view text, std::string name, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes of JSON, at most {} are read", name, text.size(),
         limits.max_bytes);
  }
  std::string replaced;
  if (limits.python_numbers) {
    replaced = without_python_numbers(text);
    text = replaced;
  }
  auto document = std::make_shared<JsonDocument>();
  document->name = std::move(name);
  Builder builder(document->root, text, document->name, limits);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  const Node* root = &document->root;
  return Json(std::move(document), root);
}

Json Json::load(const std::filesystem::path& path, const JsonLimits& limits) {
  return parse(read_file(path, limits.max_bytes), path.filename().string(), limits);
}

// ---- Reading

Json::Type Json::type() const {
  // In the order of the alternatives of Node::value; all three integer types are Integer.
  static constexpr Type kTypes[] = {Type::Null,    Type::Bool,    Type::Integer,
                                    Type::Integer, Type::Integer, Type::Float,
                                    Type::String,  Type::Array,   Type::Object};
  return kTypes[node_->value.index()];
}

namespace {

// Returns whether `target` is `node` or inside it, with the path to it, such as "a[3].b". Errors
// are rare, so they search for the path; values do not store it.
bool find_path(const Node& node, const Node* target, std::string& path) {
  if (&node == target) return true;
  if (const auto* array = std::get_if<Node::Array>(&node.value)) {
    for (size_t i = 0; i < array->size(); ++i) {
      if (!find_path((*array)[i], target, path)) continue;
      path.insert(0, fmt::format("[{}]{}", i, path.empty() || path[0] == '[' ? "" : "."));
      return true;
    }
  } else if (const auto* object = std::get_if<Node::Object>(&node.value)) {
    for (const auto& member : object->members) {
      if (!find_path(member.value, target, path)) continue;
      if (!path.empty() && path[0] != '[') path.insert(0, ".");
      path.insert(0, member.key, 0, kShownText);
      return true;
    }
  }
  return false;
}

}  // namespace

std::string Json::where() const {
  std::string path;
  find_path(document_->root, node_, path);
  return path.empty() ? document_->name : document_->name + ": " + path;
}

std::string Json::where(std::string_view key) const {
  return fmt::format("{}{}{}", where(), node_ == &document_->root ? ": " : ".", key);
}

void Json::invalid(std::string_view what) const {
  fail(ErrorCode::InvalidFile, "{}: {}", where(), what);
}

void Json::fail_type(std::string_view expected) const {
  std::string found;
  switch (type()) {
    case Type::String:
      found = shown(std::get<std::string>(node_->value));
      break;
    case Type::Array:
      found = fmt::format("an array of {}", size());
      break;
    case Type::Object:
      found = fmt::format("an object of {}", size());
      break;
    default:
      found = dump();
  }
  fail(ErrorCode::InvalidFile, "{}: expected {}, found {}", where(), expected, found);
}

bool Json::as_bool() const {
  if (const auto* flag = std::get_if<bool>(&node_->value)) return *flag;
  fail_type("true or false");
}

bool Json::is_integer(int64_t min, int64_t max) const {
  const auto* number = std::get_if<int64_t>(&node_->value);
  return number != nullptr && *number >= min && *number <= max;
}

int64_t Json::as_int(int64_t min, int64_t max) const {
  if (is_integer(min, max)) return std::get<int64_t>(node_->value);
  if (std::holds_alternative<int64_t>(node_->value))
    fail_type(fmt::format("an integer from {} to {}", min, max));
  fail_type("an integer");
}

uint64_t Json::as_uint64() const {
  if (const auto* number = std::get_if<uint64_t>(&node_->value)) return *number;
  return static_cast<uint64_t>(as_int(0));
}

double Json::as_float() const {
  if (const auto* number = std::get_if<double>(&node_->value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&node_->value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<uint64_t>(&node_->value))
    return static_cast<double>(*number);
  if (const auto* number = std::get_if<Node::BigInteger>(&node_->value)) {
    double nearest = 0;
    parse_number(number->digits, nearest);
    return nearest;
  }
  fail_type("a number");
}

std::string_view Json::as_string() const {
  if (const auto* text = std::get_if<std::string>(&node_->value)) return *text;
  fail_type("a string");
}

std::vector<int64_t> Json::as_ints() const {
  std::vector<int64_t> result;
  for (const Json& element : elements()) result.push_back(element.as_int());
  return result;
}

std::vector<double> Json::as_floats() const {
  std::vector<double> result;
  for (const Json& element : elements()) result.push_back(element.as_float());
  return result;
}

std::vector<std::string> Json::as_strings() const {
  std::vector<std::string> result;
  for (const Json& element : elements()) result.emplace_back(element.as_string());
  return result;
}

size_t Json::size() const {
  if (const auto* array = std::get_if<Node::Array>(&node_->value)) return array->size();
  if (const auto* object = std::get_if<Node::Object>(&node_->value)) return object->members.size();
  fail_type("an array or an object");
}

Json Json::at(size_t index) const {
  const auto* array = std::get_if<Node::Array>(&node_->value);
  if (array == nullptr) fail_type("an array");
  if (index >= array->size()) {
    fail(ErrorCode::InvalidFile, "{}: element {} is needed, there are {}", where(), index,
         array->size());
  }
  return Json(document_, &(*array)[index]);
}

std::vector<Json> Json::elements() const {
  const auto* array = std::get_if<Node::Array>(&node_->value);
  if (array == nullptr) fail_type("an array");
  std::vector<Json> result;
  result.reserve(array->size());
  for (const Node& node : *array) result.push_back(Json(document_, &node));
  return result;
}

const Node* Json::lookup(std::string_view key) const {
  const auto* object = std::get_if<Node::Object>(&node_->value);
  if (object == nullptr) fail_type("an object");
  const auto& members = object->members;
  const auto found = std::lower_bound(
      object->order.begin(), object->order.end(), key,
      [&](uint32_t i, std::string_view wanted) { return members[i].key < wanted; });
  if (found == object->order.end() || members[*found].key != key) return nullptr;
  return &members[*found].value;
}

bool Json::contains(std::string_view key) const {
  return lookup(key) != nullptr;
}
bool Json::has(std::string_view key) const {
  return find(key).has_value();
}

Json Json::at(std::string_view key) const {
  const Node* node = lookup(key);
  if (node == nullptr) fail(ErrorCode::InvalidFile, "{}: the key \"{}\" is missing", where(), key);
  return Json(document_, node);
}

std::optional<Json> Json::find(std::string_view key) const {
  const Node* node = lookup(key);
  if (node == nullptr || node->value.index() == 0) return std::nullopt;
  return Json(document_, node);
}

std::vector<std::pair<std::string_view, Json>> Json::members() const {
  const auto* object = std::get_if<Node::Object>(&node_->value);
  if (object == nullptr) fail_type("an object");
  std::vector<std::pair<std::string_view, Json>> result;
  result.reserve(object->members.size());
  for (const auto& member : object->members) {
    result.emplace_back(member.key, Json(document_, &member.value));
  }
  return result;
}

std::vector<std::string> Json::keys() const {
  std::vector<std::string> result;
  for (const auto& [key, value] : members()) result.emplace_back(key);
  return result;
}

bool Json::get_bool_or(std::string_view key, bool fallback) const {
  return find_bool(key).value_or(fallback);
}
int64_t Json::get_int_or(std::string_view key, int64_t fallback) const {
  return find_int(key).value_or(fallback);
}
double Json::get_float_or(std::string_view key, double fallback) const {
  return find_float(key).value_or(fallback);
}
std::string Json::get_string_or(std::string_view key, std::string_view fallback) const {
  const auto found = find(key);
  return std::string(found ? found->as_string() : fallback);
}

std::optional<bool> Json::find_bool(std::string_view key) const {
  const auto found = find(key);
  return found ? std::optional(found->as_bool()) : std::nullopt;
}
std::optional<int64_t> Json::find_int(std::string_view key) const {
  const auto found = find(key);
  return found ? std::optional(found->as_int()) : std::nullopt;
}
std::optional<double> Json::find_float(std::string_view key) const {
  const auto found = find(key);
  return found ? std::optional(found->as_float()) : std::nullopt;
}
std::optional<std::string> Json::find_string(std::string_view key) const {
  const auto found = find(key);
  return found ? std::optional(std::string(found->as_string())) : std::nullopt;
}

std::string Json::dump(int indent) const {
  JsonWriter writer(indent);
  writer.value(*this);
  return writer.text();
}

}  // namespace pippin
