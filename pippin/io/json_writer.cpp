#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/io/json_node.h"

namespace pippin {

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  if (!levels_.back().empty) text_ += ',';
  levels_.back().empty = false;
  if (indent_ >= 0) {
    text_ += '\n';
    text_.append(levels_.size() * static_cast<size_t>(indent_), ' ');
  }
}

void JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  levels_.push_back({bracket == '{', true});
}

void JsonWriter::close(char bracket) {
  assert(!levels_.empty() && levels_.back().object == (bracket == '}') && !after_key_);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (indent_ >= 0 && !empty) {
    text_ += '\n';
    text_.append(levels_.size() * static_cast<size_t>(indent_), ' ');
  }
  text_ += bracket;
}

JsonWriter& JsonWriter::begin_object() {
  open('{');
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  close('}');
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  open('[');
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  close(']');
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  assert(!levels_.empty() && levels_.back().object && !after_key_);
  separate();
  quote(name);
  text_ += indent_ >= 0 ? ": " : ":";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::nullptr_t) {
  return raw("null");
}
JsonWriter& JsonWriter::value(bool flag) {
  return raw(flag ? "true" : "false");
}
JsonWriter& JsonWriter::signed_value(int64_t number) {
  return raw(fmt::format("{}", number));
}
JsonWriter& JsonWriter::unsigned_value(uint64_t number) {
  return raw(fmt::format("{}", number));
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return raw("null");
  std::string digits = fmt::format("{}", number);  // the shortest text that parses to the same
                                                   // number
  if (digits.find_first_of(".e") == digits.npos) digits += ".0";
  return raw(digits);
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::value(const Json& json) {
  node(*json.node_);
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  text_ += text;
  return *this;
}

const std::string& JsonWriter::text() const {
  assert(levels_.empty() && !after_key_);
  return text_;
}

void JsonWriter::quote(std::string_view text) {
  text_ += '"';
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      append_utf8(text_, decode_utf8(text, i));
      continue;
    }
    ++i;
    switch (byte) {
      case '"':
        text_ += "\\\"";
        break;
      case '\\':
        text_ += "\\\\";
        break;
      case '\n':
        text_ += "\\n";
        break;
      case '\r':
        text_ += "\\r";
        break;
      case '\t':
        text_ += "\\t";
        break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          text_ += fmt::format("\\u{:04x}", byte);
        } else {
          text_ += static_cast<char>(byte);
        }
    }
  }
  text_ += '"';
}

// Recursive; the parser's depth limit bounds it.
void JsonWriter::node(const JsonNode& source) {
  struct Visitor {
    JsonWriter& writer;
    void operator()(std::monostate) { writer.value(nullptr); }
    void operator()(bool flag) { writer.value(flag); }
    void operator()(int64_t number) { writer.value(number); }
    void operator()(uint64_t number) { writer.value(number); }
    void operator()(const JsonNode::BigInteger& number) { writer.raw(number.digits); }
    void operator()(double number) { writer.value(number); }
    void operator()(const std::string& text) { writer.value(text); }
    void operator()(const JsonNode::Array& array) {
      writer.begin_array();
      for (const JsonNode& element : array) writer.node(element);
      writer.end_array();
    }
    void operator()(const JsonNode::Object& object) {
      writer.begin_object();
      for (const auto& member : object.members) {
        writer.key(member.key);
        writer.node(member.value);
      }
      writer.end_object();
    }
  };
  std::visit(Visitor{*this}, source.value);
}

}  // namespace pippin
