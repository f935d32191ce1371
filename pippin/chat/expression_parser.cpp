#include "pippin/chat/expression_parser.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"

namespace pippin::chat {
namespace {

// The interpreter's recursion is as deep as the tree.
constexpr int kMaxDepth = 300;
constexpr int kMaxNesting = 100;

}  // namespace

const Token& TokenStream::peek(size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

const Token& TokenStream::next() {
  const Token& token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool TokenStream::is_operator(std::string_view text) const {
  return peek().type == TokenType::Operator && peek().text == text;
}

bool TokenStream::is_name(std::string_view text) const {
  return peek().type == TokenType::Name && peek().text == text;
}

bool TokenStream::take_operator(std::string_view text) {
  if (!is_operator(text)) return false;
  next();
  return true;
}

bool TokenStream::take_name(std::string_view text) {
  if (!is_name(text)) return false;
  next();
  return true;
}

void TokenStream::expect_operator(std::string_view text) {
  if (!take_operator(text)) error(fmt::format("'{}' is needed before '{}'", text, peek().text));
}

void TokenStream::expect_name(std::string_view text) {
  if (!take_name(text)) error(fmt::format("'{}' is needed before '{}'", text, peek().text));
}

const Token& TokenStream::expect(TokenType type, std::string_view what) {
  if (peek().type != type) error(fmt::format("{} is needed before '{}'", what, peek().text));
  return next();
}

void TokenStream::error(std::string_view message) const {
  fail(ErrorCode::InvalidFile, "chat template, line {}: {}", peek().line, message);
}

ExpressionPtr ExpressionParser::make(Kind kind) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = tokens_.peek().line;
  return node;
}

void ExpressionParser::adopt(Expression& parent, ExpressionPtr child) const {
  if (child) {
    parent.depth = std::max(parent.depth, child->depth + 1);
    if (parent.depth > kMaxDepth) tokens_.error("an expression is nested too deep");
  }
  parent.children.push_back(std::move(child));
}

ExpressionPtr ExpressionParser::binary(Kind kind, ExpressionPtr left, std::string_view op,
                                       ExpressionPtr right) {
  auto node = make(kind);
  node->line = left->line;
  node->name = op;
  adopt(*node, std::move(left));
  adopt(*node, std::move(right));
  return node;
}

bool ExpressionParser::at_end(std::string_view end) const {
  const Token& token = tokens_.peek();
  return token.type == TokenType::OutputEnd || token.type == TokenType::StatementEnd ||
         token.type == TokenType::End || tokens_.is_operator(")") ||
         (!end.empty() && tokens_.is_name(end));
}

ExpressionPtr ExpressionParser::tuple(bool with_conditional, std::string_view end,
                                      bool in_parentheses) {
  if (in_parentheses && at_end(end)) return make(Kind::Tuple);
  auto first = expression(with_conditional);
  if (!tokens_.is_operator(",")) return first;
  auto node = make(Kind::Tuple);
  adopt(*node, std::move(first));
  while (tokens_.take_operator(",")) {
    if (at_end(end)) break;
    adopt(*node, expression(with_conditional));
  }
  return node;
}

Target ExpressionParser::target(bool with_namespace, std::string_view end) {
  if (++nesting_ > kMaxNesting) tokens_.error("a target is nested too deep");
  const auto one = [&] {
    Target part;
    if (tokens_.take_operator("(")) {
      part = target(false, "");
      tokens_.expect_operator(")");
      return part;
    }
    part.name = tokens_.expect(TokenType::Name, "a name").text;
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
      if (part.name == constant) tokens_.error(fmt::format("'{}' cannot be assigned", constant));
    }
    if (with_namespace && tokens_.take_operator(".")) {
      part.attribute = tokens_.expect(TokenType::Name, "an attribute").text;
    }
    return part;
  };
  Target first = one();
  if (tokens_.is_operator(",")) {
    Target all;
    all.parts.push_back(std::move(first));
    while (tokens_.take_operator(",")) {
      if (at_end(end) || tokens_.is_operator("=")) break;
      all.parts.push_back(one());
    }
    first = std::move(all);
  }
  --nesting_;
  return first;
}

ExpressionPtr ExpressionParser::expression(bool with_conditional) {
  if (++nesting_ > kMaxNesting) tokens_.error("an expression is nested too deep");
  auto node = or_expression();
  while (with_conditional && tokens_.take_name("if")) {
    auto conditional = make(Kind::Conditional);
    adopt(*conditional, std::move(node));
    adopt(*conditional, or_expression());
    adopt(*conditional, tokens_.take_name("else") ? expression() : nullptr);
    node = std::move(conditional);
  }
  --nesting_;
  return node;
}

ExpressionPtr ExpressionParser::or_expression() {
  auto node = and_expression();
  while (tokens_.take_name("or")) node = binary(Kind::Or, std::move(node), "", and_expression());
  return node;
}

ExpressionPtr ExpressionParser::and_expression() {
  auto node = not_expression();
  while (tokens_.take_name("and")) node = binary(Kind::And, std::move(node), "", not_expression());
  return node;
}

ExpressionPtr ExpressionParser::not_expression() {
  if (!tokens_.is_name("not")) return comparison();
  if (++nesting_ > kMaxNesting) tokens_.error("an expression is nested too deep");
  auto node = make(Kind::Not);
  tokens_.next();
  adopt(*node, not_expression());
  --nesting_;
  return node;
}

ExpressionPtr ExpressionParser::comparison() {
  auto first = sum();
  std::vector<std::string> operators;
  std::vector<ExpressionPtr> rest;
  while (true) {
    const Token& token = tokens_.peek();
    std::string op;
    if (token.type == TokenType::Operator) {
      for (const std::string_view known : {"==", "!=", "<", "<=", ">", ">="}) {
        if (token.text == known) op = known;
      }
    } else if (tokens_.is_name("in")) {
      op = "in";
    } else if (tokens_.is_name("not") && tokens_.peek(1).type == TokenType::Name &&
               tokens_.peek(1).text == "in") {
      tokens_.next();
      op = "not in";
    }
    if (op.empty()) break;
    tokens_.next();
    operators.push_back(std::move(op));
    rest.push_back(sum());
  }
  if (rest.empty()) return first;
  auto node = make(Kind::Compare);
  node->line = first->line;
  node->operators = std::move(operators);
  adopt(*node, std::move(first));
  for (auto& operand : rest) adopt(*node, std::move(operand));
  return node;
}

ExpressionPtr ExpressionParser::sum() {
  auto node = concat();
  while (tokens_.is_operator("+") || tokens_.is_operator("-")) {
    const std::string op = tokens_.next().text;
    node = binary(Kind::Binary, std::move(node), op, concat());
  }
  return node;
}

ExpressionPtr ExpressionParser::concat() {
  auto first = product();
  if (!tokens_.is_operator("~")) return first;
  auto node = make(Kind::Concat);
  adopt(*node, std::move(first));
  while (tokens_.take_operator("~")) adopt(*node, product());
  return node;
}

ExpressionPtr ExpressionParser::product() {
  auto node = power();
  while (tokens_.is_operator("*") || tokens_.is_operator("/") || tokens_.is_operator("//") ||
         tokens_.is_operator("%")) {
    const std::string op = tokens_.next().text;
    node = binary(Kind::Binary, std::move(node), op, power());
  }
  return node;
}

ExpressionPtr ExpressionParser::power() {
  auto node = unary();
  while (tokens_.take_operator("**")) {
    node = binary(Kind::Binary, std::move(node), "**", unary());
  }
  return node;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  if (++nesting_ > kMaxNesting) tokens_.error("an expression is nested too deep");
  ExpressionPtr node;
  if (tokens_.is_operator("-") || tokens_.is_operator("+")) {
    node = make(tokens_.is_operator("-") ? Kind::Negate : Kind::Plus);
    tokens_.next();
    adopt(*node, unary(false));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  if (with_filters) node = filters_and_tests(std::move(node));
  --nesting_;
  return node;
}

ExpressionPtr ExpressionParser::primary() {
  auto node = make(Kind::Constant);
  const Token& token = tokens_.peek();
  switch (token.type) {
    case TokenType::Name:
      if (token.text == "true" || token.text == "True") {
        node->constant = true;
      } else if (token.text == "false" || token.text == "False") {
        node->constant = false;
      } else if (token.text != "none" && token.text != "None") {
        node->kind = Kind::Name;
        node->name = token.text;
        names_seen.insert(token.text);
      }
      tokens_.next();
      return node;
    case TokenType::String: {
      std::string text;
      while (tokens_.peek().type == TokenType::String) text += tokens_.next().text;
      node->constant = Value(std::move(text));
      return node;
    }
    case TokenType::Integer:
      node->constant = tokens_.next().integer;
      return node;
    case TokenType::Float:
      node->constant = tokens_.next().number;
      return node;
    default:
      break;
  }
  if (tokens_.take_operator("(")) {
    node = tuple(true, "", true);
    tokens_.expect_operator(")");
    return node;
  }
  if (tokens_.take_operator("[")) return list();
  if (tokens_.take_operator("{")) return dict();
  tokens_.error(token.text.empty() ? "an expression is needed"
                                   : fmt::format("unexpected '{}'", token.text));
}

ExpressionPtr ExpressionParser::list() {
  auto node = make(Kind::List);
  while (!tokens_.take_operator("]")) {
    if (!node->children.empty()) {
      tokens_.expect_operator(",");
      if (tokens_.take_operator("]")) break;
    }
    adopt(*node, expression());
  }
  return node;
}

ExpressionPtr ExpressionParser::dict() {
  auto node = make(Kind::Dict);
  while (!tokens_.take_operator("}")) {
    if (!node->children.empty()) {
      tokens_.expect_operator(",");
      if (tokens_.take_operator("}")) break;
    }
    adopt(*node, expression());
    tokens_.expect_operator(":");
    adopt(*node, expression());
  }
  return node;
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr node) {
  while (true) {
    if (tokens_.take_operator(".")) {
      const Token& token = tokens_.next();
      if (token.type == TokenType::Name) {
        auto attribute = make(Kind::Attribute);
        attribute->name = token.text;
        adopt(*attribute, std::move(node));
        node = std::move(attribute);
      } else if (token.type == TokenType::Integer) {
        auto index = make(Kind::Constant);
        index->constant = token.integer;
        node = binary(Kind::Item, std::move(node), "", std::move(index));
      } else {
        tokens_.error("a name or a number is needed after '.'");
      }
    } else if (tokens_.take_operator("[")) {
      node = subscript(std::move(node));
    } else if (tokens_.is_operator("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr object) {
  auto node = make(Kind::Item);
  adopt(*node, std::move(object));
  ExpressionPtr start;
  if (!tokens_.is_operator(":")) start = expression();
  if (!tokens_.is_operator(":")) {
    if (tokens_.is_operator(",")) tokens_.error("an index of several parts is not supported");
    adopt(*node, std::move(start));
    tokens_.expect_operator("]");
    return node;
  }
  node->kind = Kind::Slice;
  adopt(*node, std::move(start));
  for (int part = 0; part < 2; ++part) {  // stop and step
    const bool given = tokens_.take_operator(":");
    const bool empty = !given || tokens_.is_operator(":") || tokens_.is_operator("]");
    adopt(*node, empty ? nullptr : expression());
  }
  tokens_.expect_operator("]");
  return node;
}

ExpressionPtr ExpressionParser::call(ExpressionPtr callee) {
  auto node = make(Kind::Call);
  adopt(*node, std::move(callee));
  arguments(*node);
  return node;
}

void ExpressionParser::arguments(Expression& node) {
  tokens_.expect_operator("(");
  CallArguments& result = node.arguments;
  const auto add_depth = [&](const Expression& argument) {
    node.depth = std::max(node.depth, argument.depth + 1);
    if (node.depth > kMaxDepth) tokens_.error("an expression is nested too deep");
  };
  bool first = true;
  while (!tokens_.take_operator(")")) {
    if (!first) {
      tokens_.expect_operator(",");
      if (tokens_.take_operator(")")) break;
    }
    first = false;
    if (tokens_.is_operator("*") || tokens_.is_operator("**")) {
      auto& slot = tokens_.next().text == "*" ? result.more : result.more_named;
      if (slot) tokens_.error("a second list of more arguments");
      slot = expression();
      add_depth(*slot);
      continue;
    }
    const Token& next = tokens_.peek(1);
    if (tokens_.peek().type == TokenType::Name && next.type == TokenType::Operator &&
        next.text == "=") {
      std::string name = tokens_.next().text;
      tokens_.next();
      auto value = expression();
      add_depth(*value);
      result.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (!result.named.empty() || result.more || result.more_named) {
        tokens_.error("a positional argument follows a named one");
      }
      result.positional.push_back(expression());
      add_depth(*result.positional.back());
    }
  }
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr node) {
  while (true) {
    if (tokens_.take_operator("|")) {
      node = filter(std::move(node));
    } else if (tokens_.take_name("is")) {
      node = test(std::move(node));
    } else if (tokens_.is_operator("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::filters() {
  auto node = filter(nullptr);
  while (tokens_.take_operator("|")) node = filter(std::move(node));
  return node;
}

ExpressionPtr ExpressionParser::filter(ExpressionPtr input) {
  auto node = make(Kind::Filter);
  adopt(*node, std::move(input));
  node->name = tokens_.expect(TokenType::Name, "a filter's name").text;
  while (tokens_.take_operator(".")) {
    node->name += "." + tokens_.expect(TokenType::Name, "a filter's name").text;
  }
  if (tokens_.is_operator("(")) arguments(*node);
  return node;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr operand) {
  auto node = make(Kind::Test);
  const bool negated = tokens_.take_name("not");
  adopt(*node, std::move(operand));
  node->name = tokens_.expect(TokenType::Name, "a test's name").text;
  const Token& token = tokens_.peek();
  const bool begins_argument = token.type == TokenType::Name || token.type == TokenType::String ||
                               token.type == TokenType::Integer || token.type == TokenType::Float ||
                               tokens_.is_operator("[") || tokens_.is_operator("{");
  if (tokens_.is_operator("(")) {
    arguments(*node);
  } else if (begins_argument && !tokens_.is_name("else") && !tokens_.is_name("or") &&
             !tokens_.is_name("and")) {
    if (tokens_.is_name("is")) tokens_.error("tests cannot be chained");
    auto argument = postfix(primary());
    node->depth = std::max(node->depth, argument->depth + 1);
    node->arguments.positional.push_back(std::move(argument));
  }
  if (!negated) return node;
  auto inverse = make(Kind::Not);
  adopt(*inverse, std::move(node));
  return inverse;
}

}  // namespace pippin::chat
