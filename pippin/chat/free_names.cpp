#include "pippin/chat/free_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pippin::chat {
namespace {

using NameSet = std::set<std::string>;

// Walks the tree in the order in which the interpreter does. Each function takes the names that are
// set before its part.
class Walk {
 public:
  NameSet take() && { return std::move(free_); }

  // Returns the names that are set after it.
  NameSet read(const Body& body, NameSet bound) {
    for (const auto& statement : body) read(*statement, bound);
    return bound;
  }

 private:
  using Kind = Statement::Kind;

  void read(const Statement& statement, NameSet& bound) {
    switch (statement.kind) {
      case Kind::Text:
      case Kind::Break:
      case Kind::Continue:
        return;
      case Kind::Output:
        return read(statement.expression.get(), bound);
      case Kind::If:
        return read_if(statement, bound);
      case Kind::For:
        return read_for(statement, bound);
      case Kind::Set:
        read(statement.expression.get(), bound);
        return assign(statement.target, bound);
      case Kind::SetBlock:
        read(statement.body, bound);
        read(statement.expression.get(), bound);
        return assign(statement.target, bound);
      case Kind::Macro:
        bound.insert(statement.text);
        return read_macro(statement, bound);
      case Kind::CallBlock:
        read(statement.expression.get(), bound);
        return read_macro(statement, bound);
      case Kind::Filter:
        read(statement.expression.get(), bound);
        read(statement.body, bound);
        return;
      case Kind::With: {
        NameSet inner = bound;
        for (const auto& [target, value] : statement.assignments) {
          read(value.get(), bound);
          assign(target, inner);
        }
        read(statement.body, std::move(inner));
        return;
      }
      case Kind::Scope:
        read(statement.body, bound);
        return;
    }
  }

  // A branch that sets a name leaves it unset on the other ways.
  void read_if(const Statement& statement, NameSet& bound) {
    const NameSet before = bound;
    bool is_first = true;
    const auto join = [&](NameSet after) {
      NameSet both;
      std::set_intersection(bound.begin(), bound.end(), after.begin(), after.end(),
                            std::inserter(both, both.end()));
      bound = std::exchange(is_first, false) ? std::move(after) : std::move(both);
    };
    for (const auto& branch : statement.branches) {
      read(branch.condition.get(), before);
      join(read(branch.body, before));
    }
    join(read(statement.other, before));
  }

  void read_for(const Statement& statement, const NameSet& bound) {
    read(statement.expression.get(), bound);
    NameSet inner = bound;
    assign(statement.target, inner);
    read(statement.condition.get(), inner);
    inner.insert("loop");
    read(statement.body, std::move(inner));
    read(statement.other, bound);
  }

  void read_macro(const Statement& statement, const NameSet& bound) {
    NameSet inner = bound;
    inner.insert({"varargs", "kwargs", "caller"});
    for (const Parameter& parameter : statement.parameters) {
      read(parameter.fallback.get(), inner);
      inner.insert(parameter.name);
    }
    read(statement.body, std::move(inner));
  }

  void read(const Expression* node, const NameSet& bound) {
    if (node == nullptr) return;
    if (node->kind == Expression::Kind::Name && !bound.contains(node->name)) {
      free_.insert(node->name);
    }
    for (const auto& child : node->children) read(child.get(), bound);
    for (const auto& value : node->arguments.positional) read(value.get(), bound);
    for (const auto& [name, value] : node->arguments.named) read(value.get(), bound);
    read(node->arguments.more.get(), bound);
    read(node->arguments.more_named.get(), bound);
  }

  static void assign(const Target& target, NameSet& bound) {
    // An attribute belongs to a namespace that is there already.
    if (!target.name.empty() && target.attribute.empty()) bound.insert(target.name);
    for (const Target& part : target.parts) assign(part, bound);
  }

  NameSet free_;
};

}  // namespace

std::set<std::string> free_names(const Body& body) {
  Walk walk;
  walk.read(body, {});
  return std::move(walk).take();
}

}  // namespace pippin::chat
