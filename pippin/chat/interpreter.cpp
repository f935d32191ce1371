#include "pippin/chat/interpreter.h"

#include <algorithm>
#include <memory>

#include "pippin/chat/filters.h"
#include "pippin/chat/functions.h"
#include "pippin/chat/loop.h"
#include "pippin/chat/operators.h"
#include "pippin/chat/tests.h"

namespace pippin::chat {
namespace {

using Kind = Expression::Kind;

// A scope of names; lookup goes outwards. A macro keeps the scope in which it was defined.
struct Scope {
  Scope* parent = nullptr;
  bool kept = false;  // a macro refers to it
  std::vector<std::pair<std::string, Value>> names;

  Value* find_here(std::string_view name) {
    for (auto& entry : names) {
      if (entry.first == name) return &entry.second;
    }
    return nullptr;
  }
  void set(const std::string& name, Value value) {
    if (Value* found = find_here(name)) {
      *found = std::move(value);
    } else {
      names.emplace_back(name, std::move(value));
    }
  }
};

enum class Flow { Next, Break, Continue };

class Interpreter;

class Macro final : public Object {
 public:
  Macro(Interpreter& interpreter, const Statement& statement, Scope* scope, std::string name)
      : interpreter_(interpreter), statement_(statement), scope_(scope), name_(std::move(name)) {}
  std::string type_name() const override { return "Macro"; }
  bool callable() const override { return true; }
  std::optional<Value> attribute(Runtime& /*runtime*/, std::string_view name) override {
    if (name == "name") return Value(name_);
    return std::nullopt;
  }
  Value call(Runtime& runtime, const Arguments& arguments) override;

 private:
  Interpreter& interpreter_;
  const Statement& statement_;
  Scope* scope_;
  std::string name_;
};

class Interpreter final : public Runtime {
 public:
  Interpreter(const Dict& context, const Limits& limits, const std::tm& now)
      : Runtime(limits, now), context_(context) {}

  std::string run(const Body& body) {
    std::string output;
    output_ = &output;
    Scope root;
    scope_ = &root;
    try {
      execute(body);
    } catch (const Error& error) {
      clear();
      fail(error.code(), "chat template, line {}: {}", line_, error.what());
    }
    clear();
    return output;
  }

  Value filter(std::string_view name, const Value& input, const Arguments& arguments) override {
    return apply_filter(*this, name, input, arguments);
  }
  bool test(std::string_view name, const Value& input, const Arguments& arguments) override {
    return apply_test(*this, name, input, arguments);
  }
  Value call(const Value& callee, const Arguments& arguments) override {
    require_defined(callee);
    if (!callee.is(Type::Object)) {
      template_error("'{}' object is not callable", callee.type_name());
    }
    return callee.object()->call(*this, arguments);
  }

  Value call_macro(const Statement& macro, Scope* scope, const std::string& name,
                   const Arguments& arguments);

 private:
  class Deeper {
   public:
    Deeper(Interpreter& interpreter, int line) : interpreter_(interpreter) {
      if (++interpreter.depth_ > interpreter.limits().depth) {
        fail(ErrorCode::LimitExceeded, "nested too deep");
      }
      interpreter.line_ = line;
      interpreter.step();
    }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --interpreter_.depth_; }

   private:
    Interpreter& interpreter_;
  };

  // A scope that lives as long as this object, or to the end of the run if a macro needs it.
  class NewScope {
   public:
    NewScope(Interpreter& interpreter, Scope* parent)
        : interpreter_(interpreter), outer_(interpreter.scope_), scope_(new Scope) {
      scope_->parent = parent;
      interpreter_.scope_ = scope_.get();
    }
    NewScope(const NewScope&) = delete;
    NewScope& operator=(const NewScope&) = delete;
    ~NewScope() {
      interpreter_.scope_ = outer_;
      if (scope_->kept) interpreter_.kept_.push_back(std::move(scope_));
    }

   private:
    Interpreter& interpreter_;
    Scope* outer_;
    std::unique_ptr<Scope> scope_;
  };

  // Redirects output to a separate string.
  class Capture {
   public:
    explicit Capture(Interpreter& interpreter)
        : interpreter_(interpreter), outer_(interpreter.output_) {
      interpreter_.output_ = &text;
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture() { interpreter_.output_ = outer_; }
    std::string text;

   private:
    Interpreter& interpreter_;
    std::string* outer_;
  };

  // Through namespaces, values may form cycles and long chains. So they live until the end, and are
  // then cleared one by one.
  void clear() {
    for (auto& space : namespaces_) space->clear();
    scope_ = nullptr;
    kept_.clear();
  }

  void write(std::string_view text) {
    charge(static_cast<int64_t>(text.size()));
    if (static_cast<int64_t>(output_->size() + text.size()) > limits().output_bytes) {
      fail(ErrorCode::LimitExceeded, "the output is larger than {} bytes", limits().output_bytes);
    }
    *output_ += text;
  }

  Flow execute(const Body& body) {
    for (const auto& statement : body) {
      const Flow flow = execute(*statement);
      if (flow != Flow::Next) return flow;
    }
    return Flow::Next;
  }
  Flow execute(const Statement& statement);
  Flow execute_if(const Statement& statement);
  void execute_for(const Statement& statement, const Value& over, int level);
  void assign(const Target& target, Value value);
  std::string captured(const Body& body);
  Value filtered(const Expression* filters, Value text);

  Value evaluate(const Expression& node);
  Value evaluate_compare(const Expression& node);
  Value evaluate_concat(const Expression& node);
  Value evaluate_dict(const Expression& node);
  Value evaluate_filter(const Expression& node, const Value* innermost);
  Value evaluate_test(const Expression& node);
  Value look_up(const std::string& name);
  Value child(const Expression& node, size_t i) { return evaluate(*node.children[i]); }
  Value optional_child(const Expression& node, size_t i) {
    return node.children[i] ? child(node, i) : Value();
  }
  Arguments evaluate(const CallArguments& arguments);
  Value make_macro(const Statement& statement, std::string name);

  const Dict& context_;
  Scope* scope_ = nullptr;
  std::vector<std::unique_ptr<Scope>> kept_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  std::string* output_ = nullptr;
  int depth_ = 0;
  int line_ = 0;
};

Value Macro::call(Runtime& /*runtime*/, const Arguments& arguments) {
  return interpreter_.call_macro(statement_, scope_, name_, arguments);
}

Flow Interpreter::execute(const Statement& statement) {
  const Deeper deeper(*this, statement.line);
  switch (statement.kind) {
    case Statement::Kind::Text:
      write(statement.text);
      break;
    case Statement::Kind::Output:
      write(to_text(evaluate(*statement.expression)));
      break;
    case Statement::Kind::If:
      return execute_if(statement);
    case Statement::Kind::For:
      execute_for(statement, evaluate(*statement.expression), 0);
      break;
    case Statement::Kind::Set:
      assign(statement.target, evaluate(*statement.expression));
      break;
    case Statement::Kind::SetBlock: {
      Value text = captured(statement.body);
      assign(statement.target, filtered(statement.expression.get(), std::move(text)));
      break;
    }
    case Statement::Kind::Macro:
      scope_->set(statement.text, make_macro(statement, statement.text));
      break;
    case Statement::Kind::CallBlock: {
      const Expression& node = *statement.expression;
      const Value callee = child(node, 0);
      Arguments arguments = evaluate(node.arguments);
      arguments.named.emplace_back("caller", make_macro(statement, "caller"));
      write(to_text(call(callee, arguments)));
      break;
    }
    case Statement::Kind::Filter: {
      Value text = captured(statement.body);
      write(to_text(filtered(statement.expression.get(), std::move(text))));
      break;
    }
    case Statement::Kind::With: {
      std::vector<Value> values;
      for (const auto& [target, value] : statement.assignments) values.push_back(evaluate(*value));
      const NewScope scope(*this, scope_);
      for (size_t i = 0; i < values.size(); ++i) assign(statement.assignments[i].first, values[i]);
      return execute(statement.body);
    }
    case Statement::Kind::Scope: {
      const NewScope scope(*this, scope_);
      return execute(statement.body);
    }
    case Statement::Kind::Break:
      return Flow::Break;
    case Statement::Kind::Continue:
      return Flow::Continue;
  }
  return Flow::Next;
}

Flow Interpreter::execute_if(const Statement& statement) {
  for (const auto& branch : statement.branches) {
    if (evaluate(*branch.condition).truthy()) return execute(branch.body);
  }
  return execute(statement.other);
}

void Interpreter::execute_for(const Statement& statement, const Value& over, int level) {
  std::vector<Value> items = iterate(*this, over);
  if (statement.condition) {
    std::vector<Value> chosen;
    for (auto& item : items) {
      const NewScope scope(*this, scope_);
      assign(statement.target, item);
      if (evaluate(*statement.condition).truthy()) chosen.push_back(std::move(item));
    }
    items = std::move(chosen);
  }
  LoopObject::Recursion recursion;
  if (statement.recursive) {
    recursion = [this, &statement, level](const Value& inner) {
      const Deeper deeper(*this, statement.line);
      Capture capture(*this);
      execute_for(statement, inner, level + 1);
      return Value(std::move(capture.text));
    };
  }
  const auto loop = std::make_shared<LoopObject>(std::move(items), level, std::move(recursion));
  bool visited = false;
  for (size_t i = 0; i < loop->size(); ++i) {
    step();
    visited = true;
    loop->move_to(i);
    const NewScope scope(*this, scope_);
    scope_->set("loop", Value(std::static_pointer_cast<Object>(loop)));
    assign(statement.target, loop->current());
    if (execute(statement.body) == Flow::Break) break;
  }
  loop->finish();
  if (!visited) {
    const NewScope scope(*this, scope_);
    execute(statement.other);
  }
}

void Interpreter::assign(const Target& target, Value value) {
  if (!target.parts.empty()) {
    const std::vector<Value> values = iterate(*this, value);
    if (values.size() != target.parts.size()) {
      template_error("{} values for {} names", values.size(), target.parts.size());
    }
    for (size_t i = 0; i < values.size(); ++i) assign(target.parts[i], values[i]);
    return;
  }
  if (target.attribute.empty()) {
    step(static_cast<int64_t>(scope_->names.size() / 16));
    scope_->set(target.name, std::move(value));
    return;
  }
  const Value object = look_up(target.name);
  auto* space = object.is(Type::Object) ? dynamic_cast<Namespace*>(object.object().get()) : nullptr;
  if (space == nullptr) template_error("cannot assign attribute on non-namespace object");
  space->set(target.attribute, std::move(value));
}

std::string Interpreter::captured(const Body& body) {
  Capture capture(*this);
  const NewScope scope(*this, scope_);
  execute(body);
  return std::move(capture.text);
}

Value Interpreter::filtered(const Expression* filters, Value text) {
  return filters == nullptr ? text : evaluate_filter(*filters, &text);
}

Value Interpreter::make_macro(const Statement& statement, std::string name) {
  for (Scope* scope = scope_; scope != nullptr; scope = scope->parent) scope->kept = true;
  return Value(std::static_pointer_cast<Object>(
      std::make_shared<Macro>(*this, statement, scope_, std::move(name))));
}

Value Interpreter::call_macro(const Statement& macro, Scope* outer, const std::string& name,
                              const Arguments& arguments) {
  const Deeper deeper(*this, line_);
  const int line = line_;
  Capture capture(*this);
  const NewScope scope(*this, outer);
  const auto& parameters = macro.parameters;
  std::vector<Value> more;
  Dict more_named;
  std::vector<bool> given(parameters.size(), false);
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < parameters.size()) {
      scope_->set(parameters[i].name, arguments.positional[i]);
      given[i] = true;
    } else {
      more.push_back(arguments.positional[i]);
    }
  }
  std::optional<Value> caller;
  for (const auto& named : arguments.named) {
    const auto& key = named.first;
    const auto& value = named.second;
    step(static_cast<int64_t>(parameters.size() / 16));
    const auto found =
        std::find_if(parameters.begin(), parameters.end(),
                     [&](const Parameter& parameter) { return parameter.name == key; });
    if (found != parameters.end()) {
      const auto i = static_cast<size_t>(found - parameters.begin());
      if (given[i]) template_error("macro '{}' got multiple values for argument '{}'", name, key);
      scope_->set(key, value);
      given[i] = true;
    } else if (key == "caller") {
      caller = value;
    } else {
      more_named.set(Value(key), value);
    }
  }
  if (!more.empty() && !macro.takes_more) {
    template_error("macro '{}' takes not more than {} argument(s)", name, parameters.size());
  }
  if (more_named.size() > 0 && !macro.takes_more_named) {
    template_error("macro '{}' takes no keyword argument {}", name,
                   to_repr(more_named.entries()[0].first));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (given[i]) continue;
    scope_->set(
        parameters[i].name,
        parameters[i].fallback
            ? evaluate(*parameters[i].fallback)
            : Value::undefined(fmt::format("parameter '{}' was not provided", parameters[i].name)));
  }
  if (macro.takes_more) scope_->set("varargs", list(std::move(more), ListKind::Tuple));
  if (macro.takes_more_named) scope_->set("kwargs", Value(std::move(more_named)));
  if (caller) scope_->set("caller", *caller);
  execute(macro.body);
  line_ = line;
  return Value(std::move(capture.text));
}

Value Interpreter::look_up(const std::string& name) {
  for (Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    step(static_cast<int64_t>(scope->names.size() / 16));
    if (const Value* found = scope->find_here(name)) return *found;
  }
  if (const Value* found = context_.find(Value(name))) return *found;
  if (auto found = global_function(name)) return *found;
  return Value::undefined(fmt::format("'{}' is undefined", name));
}

Arguments Interpreter::evaluate(const CallArguments& arguments) {
  Arguments result;
  for (const auto& argument : arguments.positional)
    result.positional.push_back(evaluate(*argument));
  for (const auto& [name, argument] : arguments.named) {
    result.named.emplace_back(name, evaluate(*argument));
  }
  if (arguments.more) {
    for (auto& value : iterate(*this, evaluate(*arguments.more))) {
      result.positional.push_back(std::move(value));
    }
  }
  if (arguments.more_named) {
    const Value more = evaluate(*arguments.more_named);
    require_defined(more);
    if (!more.is_dict()) template_error("the argument after ** must be a mapping");
    for (const auto& [name, value] : more.dict().entries()) {
      if (!name.is_string()) template_error("keywords must be strings");
      result.named.emplace_back(name.string(), value);
    }
  }
  return result;
}

Value Interpreter::evaluate(const Expression& node) {
  const Deeper deeper(*this, node.line);
  switch (node.kind) {
    case Kind::Constant:
      return node.constant;
    case Kind::Name:
      return look_up(node.name);
    case Kind::List:
    case Kind::Tuple: {
      std::vector<Value> items;
      for (const auto& part : node.children) items.push_back(evaluate(*part));
      return list(std::move(items), node.kind == Kind::List ? ListKind::List : ListKind::Tuple);
    }
    case Kind::Dict:
      return evaluate_dict(node);
    case Kind::Negate:
      return negate(child(node, 0));
    case Kind::Plus: {
      Value value = child(node, 0);
      if (!value.is_number())
        template_error("bad operand type for unary +: '{}'", value.type_name());
      return value.is_integer() ? Value(value.integer()) : value;
    }
    case Kind::Not:
      return !child(node, 0).truthy();
    case Kind::And: {
      Value left = child(node, 0);
      return left.truthy() ? child(node, 1) : left;
    }
    case Kind::Or: {
      Value left = child(node, 0);
      return left.truthy() ? left : child(node, 1);
    }
    case Kind::Binary: {
      const Value left = child(node, 0);
      const Value right = child(node, 1);
      return binary(*this, node.name, left, right);
    }
    case Kind::Compare:
      return evaluate_compare(node);
    case Kind::Concat:
      return evaluate_concat(node);
    case Kind::Conditional:
      if (child(node, 1).truthy()) return child(node, 0);
      if (node.children[2]) return child(node, 2);
      return Value::undefined("the inline if-expression has no else");
    case Kind::Attribute:
      return attribute(*this, child(node, 0), node.name);
    case Kind::Item: {
      const Value object = child(node, 0);
      return item(*this, object, child(node, 1));
    }
    case Kind::Slice: {
      const Value object = child(node, 0);
      const Value start = optional_child(node, 1);
      const Value stop = optional_child(node, 2);
      return slice(*this, object, start, stop, optional_child(node, 3));
    }
    case Kind::Call: {
      const Value callee = child(node, 0);
      Value result = call(callee, evaluate(node.arguments));
      if (result.is(Type::Object)) {
        if (auto space = std::dynamic_pointer_cast<Namespace>(result.object())) {
          charge(1024);
          namespaces_.push_back(std::move(space));
        }
      }
      line_ = node.line;
      return result;
    }
    case Kind::Filter:
      return evaluate_filter(node, nullptr);
    case Kind::Test:
      return evaluate_test(node);
  }
  return {};
}

Value Interpreter::evaluate_dict(const Expression& node) {
  Dict dict;
  for (size_t i = 0; i < node.children.size(); i += 2) {
    const Value key = child(node, i);
    look(key);
    dict.set(key, child(node, i + 1));
  }
  charge(static_cast<int64_t>(dict.size() * 4 * sizeof(Value)));
  return Value(std::move(dict));
}

Value Interpreter::evaluate_compare(const Expression& node) {
  Value left = child(node, 0);
  for (size_t i = 0; i < node.operators.size(); ++i) {
    Value right = child(node, i + 1);
    if (!compare(*this, node.operators[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::evaluate_concat(const Expression& node) {
  std::string text;
  for (const auto& part : node.children) {
    const std::string one = to_text(evaluate(*part));
    charge(static_cast<int64_t>(one.size()));
    text += one;
  }
  return Value(std::move(text));
}

Value Interpreter::evaluate_filter(const Expression& node, const Value* innermost) {
  const Deeper deeper(*this, node.line);
  const Expression* inner = node.children[0].get();
  Value input;
  if (inner == nullptr) {
    if (innermost != nullptr) input = *innermost;  // the text of a filter block
  } else {
    input = innermost != nullptr ? evaluate_filter(*inner, innermost) : evaluate(*inner);
  }
  return filter(node.name, input, evaluate(node.arguments));
}

Value Interpreter::evaluate_test(const Expression& node) {
  const Value operand = child(node, 0);
  return test(node.name, operand, evaluate(node.arguments));
}

}  // namespace

std::string run(const Body& body, const Dict& context, const Limits& limits, const std::tm& now) {
  return Interpreter(context, limits, now).run(body);
}

}  // namespace pippin::chat
