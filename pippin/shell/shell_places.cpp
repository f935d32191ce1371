#include "pippin/shell/shell_places.h"

#include <algorithm>
#include <cctype>

#include "pippin/base/error.h"

namespace pippin::shell {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_one_of(char c, std::string_view characters) {
  return characters.find(c) != std::string_view::npos;
}

// Tracks a command's quoting like a shell, including comments, $(...) and `...`. Safety does not
// depend on this: arguments are not part of the command that the shell parses (ToolCommand), so a
// misread construct is at worst meaningless.
class Scanner {
 public:
  explicit Scanner(std::string_view command) : command_(command) {}

  std::vector<ShellPlace> run() {
    while (at_ < command_.size()) step();
    return std::move(places_);
  }

 private:
  char now() const { return command_[at_]; }
  char mode() const { return modes_.empty() ? '\0' : modes_.back(); }
  void turn(char quote) {
    if (mode() == quote) {
      modes_.pop_back();
    } else {
      modes_ += quote;
      opened_ = at_;
    }
  }

  void step() {
    const char c = now();
    if (c == '{' && take_place()) return;
    if (mode() == '\'') {
      if (c == '\'') modes_.pop_back();
    } else if (c == '\\') {
      ++at_;  // and the escaped character
    } else if (c == '"' || c == '`' || (c == '\'' && mode() != '"')) {
      turn(c);
    } else if (command_.substr(at_).starts_with("$((")) {
      modes_ += '+';
      at_ += 2;
    } else if (mode() == '+' && command_.substr(at_).starts_with("))")) {
      modes_.pop_back();
      ++at_;
    } else if (command_.substr(at_).starts_with("$(")) {
      modes_ += '(';
      ++at_;
    } else if (mode() != '"' && c == '(') {
      modes_ += '(';
    } else if (c == ')' && mode() == '(') {
      modes_.pop_back();
    } else if (mode() != '"' && c == '#' &&
               (at_ == 0 || is_one_of(command_[at_ - 1], " \t\n;&|()"))) {
      at_ = std::min(command_.find('\n', at_), command_.size() - 1);
    }
    ++at_;
  }

  bool take_place() {
    size_t end = at_ + 1;
    while (end < command_.size() && is_word(command_[end])) ++end;
    const bool is_place = end > at_ + 1 && end < command_.size() && command_[end] == '}' &&
                          (at_ == 0 || command_[at_ - 1] != '$');
    if (!is_place) return false;
    ShellPlace place{at_, end + 1, command_.substr(at_ + 1, end - at_ - 1)};
    const std::string_view text = command_.substr(place.begin, place.end - place.begin);
    if (modes_.find('+') != std::string::npos) {
      fail(ErrorCode::InvalidArgument, "{} stands within arithmetic, where a text may be code",
           text);
    }
    if (mode() == '\'' || mode() == '"') {
      if (opened_ + 1 != at_ || place.end >= command_.size() || command_[place.end] != mode()) {
        fail(ErrorCode::InvalidArgument,
             "{} stands within quotes, among other text: end them before it and open them after it "
             "(an argument is one word without quotes, too)",
             text);
      }
      modes_.pop_back();
      --place.begin;
      ++place.end;
    }
    at_ = place.end;
    places_.push_back(place);
    return true;
  }

  std::string_view command_;
  size_t at_ = 0, opened_ = 0;
  std::string modes_;  // innermost last: ' " ` ( for $( or (, + for $((
  std::vector<ShellPlace> places_;
};

}  // namespace

std::vector<ShellPlace> find_shell_places(std::string_view command) {
  return Scanner(command).run();
}

std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

}  // namespace pippin::shell
