#include "pippin/chat/pretty.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/base/text.h"
#include "pippin/chat/characters.h"
#include "pippin/chat/operators.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

constexpr int64_t kWidth = 80;

// Returns runs of non-spaces, each with the spaces after it.
std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  size_t begin = 0;
  bool spaced = false;
  for (size_t i = 0; i < line.size();) {
    const size_t at = i;
    const bool space = is_space(decode_utf8(line, i));
    if (spaced && !space) {
      found.push_back(line.substr(begin, at - begin));
      begin = at;
    }
    spaced = space;
  }
  found.push_back(line.substr(begin));
  return found;
}

bool comparable(const Value& a, const Value& b) {
  return (a.is_number() && b.is_number()) || (a.is_string() && b.is_string());
}

using Entries = std::vector<std::pair<Value, Value>>;

Entries sorted_entries(Runtime& runtime, const Dict& dict) {
  Entries entries = dict.entries();
  runtime.charge(static_cast<int64_t>(entries.size() * sizeof(entries[0])));
  runtime.step(static_cast<int64_t>(entries.size()) * 16);
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& one, const auto& other) {
    const Value &a = one.first, &b = other.first;
    const std::string left = a.type_name(), right = b.type_name();
    if (!comparable(a, b) && left != right) return left < right;
    if (a.is_none()) return false;  // there is only one None
    return order(runtime, "<", a, b) < 0;
  });
  return entries;
}

class Printer {
 public:
  explicit Printer(Runtime& runtime) : runtime_(runtime) {}

  // `indent`: column of the start; `allowance`: width of the following text on the last line; both
  // in characters.
  void print(const Value& value, int64_t indent, int64_t allowance, int level) {
    const std::string whole = in_one_line(value);
    if (text_length(whole) <= kWidth - indent - allowance) return add(whole);
    if (value.is_dict()) {
      print_dict(value.dict(), indent, allowance + 1, level + 1);
    } else if (value.is_list() && value.list().kind == ListKind::List) {
      print_items(value.list().items, '[', "]", indent, allowance, level + 1);
    } else if (value.is_list() && value.list().kind == ListKind::Tuple) {
      const char* end = value.list().items.size() == 1 ? ",)" : ")";
      print_items(value.list().items, '(', end, indent, allowance, level + 1);
    } else if (value.is_string() && !value.is_markup() && !value.string().empty()) {
      print_text(value.string(), indent, allowance, level + 1);
    } else {
      add(whole);
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void add(std::string_view text) {
    runtime_.charge(static_cast<int64_t>(text.size()));
    out_ += text;
  }
  void new_line(int64_t indent, std::string_view before) {
    add(before);
    add("\n");
    add(std::string(static_cast<size_t>(indent), ' '));
  }

  // Like repr(), but with sorted keys.
  std::string in_one_line(const Value& value) {
    std::string out;
    append_line(out, value);
    return out;
  }
  void append_line(std::string& out, const Value& value) {
    runtime_.step();
    const bool is_list = value.is_list() && value.list().kind == ListKind::List;
    const bool is_tuple = value.is_list() && value.list().kind == ListKind::Tuple;
    if (!value.is_dict() && !is_list && !is_tuple) {
      const std::string text = to_repr(value);
      runtime_.charge(static_cast<int64_t>(text.size()));
      out += text;
      return;
    }
    out += is_tuple ? '(' : is_list ? '[' : '{';
    bool first = true;
    const auto separate = [&] {
      if (!first) out += ", ";
      first = false;
    };
    if (value.is_dict()) {
      for (const auto& [key, item] : sorted_entries(runtime_, value.dict())) {
        separate();
        append_line(out, key);
        out += ": ";
        append_line(out, item);
      }
    } else {
      for (const auto& item : value.list().items) {
        separate();
        append_line(out, item);
      }
    }
    if (is_tuple && value.list().items.size() == 1) out += ',';
    out += is_tuple ? ')' : is_list ? ']' : '}';
  }

  void print_dict(const Dict& dict, int64_t indent, int64_t allowance, int level) {
    const Entries entries = sorted_entries(runtime_, dict);
    add("{");
    ++indent;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) new_line(indent, ",");
      const std::string key = in_one_line(entries[i].first);
      add(key);
      add(": ");
      const bool last = i + 1 == entries.size();
      print(entries[i].second, indent + text_length(key) + 2, last ? allowance : 1, level);
    }
    add("}");
  }

  void print_items(const std::vector<Value>& items, char begin, std::string_view end,
                   int64_t indent, int64_t allowance, int level) {
    add(std::string_view(&begin, 1));
    ++indent;
    allowance += static_cast<int64_t>(end.size());
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) new_line(indent, ",");
      print(items[i], indent, i + 1 == items.size() ? allowance : 1, level);
    }
    add(end);
  }

  // Prints string literals on separate lines: one per line of text, or several words of a long
  // line.
  void print_text(const std::string& text, int64_t indent, int64_t allowance, int level) {
    if (level == 1) {  // in parentheses
      ++indent;
      ++allowance;
    }
    const int64_t width = kWidth - indent;
    const std::vector<std::string> lines = split_lines(text, true);
    std::vector<std::string> literals;
    std::string literal;
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool last_line = i + 1 == lines.size();
      literal = in_one_line(lines[i]);
      if (text_length(literal) <= (last_line ? width - allowance : width)) {
        literals.push_back(literal);
        continue;
      }
      const auto parts = words(lines[i]);
      std::string current;
      for (size_t j = 0; j < parts.size(); ++j) {
        const bool last = last_line && j + 1 == parts.size();
        std::string candidate = current + std::string(parts[j]);
        if (text_length(in_one_line(candidate)) > (last ? width - allowance : width)) {
          if (!current.empty()) literals.push_back(in_one_line(current));
          current = parts[j];
        } else {
          current = std::move(candidate);
        }
      }
      if (!current.empty()) literals.push_back(in_one_line(current));
    }
    if (literals.size() == 1) {
      add(literal);
      return;
    }
    if (level == 1) add("(");
    for (size_t i = 0; i < literals.size(); ++i) {
      if (i > 0) new_line(indent, "");
      add(literals[i]);
    }
    if (level == 1) add(")");
  }

  Runtime& runtime_;
  std::string out_;
};

}  // namespace

std::string pretty(Runtime& runtime, const Value& value) {
  Printer printer(runtime);
  printer.print(value, 0, 0, 0);
  return printer.take();
}

}  // namespace pippin::chat
