// The syntax tree of a template, made by the parser and run by the interpreter.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pippin/chat/value.h"

namespace pippin::chat {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more;        // for *more; may be null
  ExpressionPtr more_named;  // for **more_named; may be null
};

// Each kind lists its children.
struct Expression {
  enum class Kind {
    Constant,     // `constant`
    Name,         // `name`
    List,         // items
    Tuple,        // items
    Dict,         // key, value, key, value ...
    Negate,       // operand
    Plus,         // operand
    Not,          // operand
    And,          // left, right
    Or,           // left, right
    Binary,       // left, right; `name` is the operator
    Compare,      // first, second ...; `operators` between them
    Concat,       // parts
    Conditional,  // then, test, else (may be null)
    Attribute,    // object; `name`
    Item,         // object, index
    Slice,        // object, start, stop, step (may be null)
    Call,         // callee; `arguments`
    Filter,       // input (null inside a filter block); `name`, `arguments`
    Test,         // operand; `name`, `arguments`
  };
  Kind kind;
  int line;
  int depth = 1;  // of the subtree
  std::string name;
  Value constant;
  std::vector<ExpressionPtr> children;
  std::vector<std::string> operators;
  CallArguments arguments;
};

// The target of an assignment: a name, an attribute of a namespace, or several of these.
struct Target {
  std::string name;
  std::string attribute;  // of a namespace, unless empty
  std::vector<Target> parts;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

struct Parameter {
  std::string name;
  ExpressionPtr fallback;  // may be null
};

struct Statement {
  enum class Kind {
    Text,       // `text`
    Output,     // `expression`
    If,         // `branches`, `other`
    For,        // `target`, `expression`, `condition`, `body`, `other`, `recursive`
    Set,        // `target`, `expression`
    SetBlock,   // `target`, `body`, `expression`: filters for the text, may be null
    Macro,      // `text` is the name; `parameters`, `body`
    CallBlock,  // `expression` is a call; `parameters`, `body`
    Filter,     // `expression`: filters for the text; `body`
    With,       // `assignments`, `body`
    Scope,      // `body` in a new scope
    Break,
    Continue,
  };
  struct Branch {
    ExpressionPtr condition;
    Body body;
  };
  Kind kind;
  int line;
  std::string text;
  ExpressionPtr expression;
  ExpressionPtr condition;
  Target target;
  Body body;
  Body other;
  std::vector<Branch> branches;
  std::vector<Parameter> parameters;
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  bool recursive = false;
  bool takes_more = false;        // a macro that reads varargs
  bool takes_more_named = false;  // a macro that reads kwargs
};

}  // namespace pippin::chat
