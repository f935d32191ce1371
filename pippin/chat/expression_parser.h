// Parser for expressions of the template language, from "or" down to names.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/chat/ast.h"
#include "pippin/chat/lexer.h"

namespace pippin::chat {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  const Token& peek(size_t ahead = 0) const;
  const Token& next();
  bool is_operator(std::string_view text) const;
  bool is_name(std::string_view text) const;
  bool take_operator(std::string_view text);
  bool take_name(std::string_view text);
  void expect_operator(std::string_view text);
  void expect_name(std::string_view text);
  const Token& expect(TokenType type, std::string_view what);
  // Throws Error(InvalidFile) with the line of the next token.
  [[noreturn]] void error(std::string_view message) const;

 private:
  std::vector<Token> tokens_;  // the last one is End
  size_t position_ = 0;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionPtr expression(bool with_conditional = true);
  // Parses one expression, or several with commas; a name `end` ends it like the end of the tag.
  ExpressionPtr tuple(bool with_conditional = true, std::string_view end = "",
                      bool in_parentheses = false);
  // Parses "name(arguments) | name ..." into Filter nodes; the innermost has no input.
  ExpressionPtr filters();
  Target target(bool with_namespace, std::string_view end);

  std::set<std::string, std::less<>> names_seen;  // since the last clear()

 private:
  using Kind = Expression::Kind;
  ExpressionPtr make(Kind kind) const;
  // Adds `child`; throws if the tree gets too deep.
  void adopt(Expression& parent, ExpressionPtr child) const;
  ExpressionPtr binary(Kind kind, ExpressionPtr left, std::string_view op, ExpressionPtr right);
  bool at_end(std::string_view end) const;

  ExpressionPtr or_expression();
  ExpressionPtr and_expression();
  ExpressionPtr not_expression();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concat();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters = true);
  ExpressionPtr primary();
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr node);
  ExpressionPtr filters_and_tests(ExpressionPtr node);
  ExpressionPtr filter(ExpressionPtr input);
  ExpressionPtr test(ExpressionPtr operand);
  ExpressionPtr subscript(ExpressionPtr object);
  ExpressionPtr call(ExpressionPtr callee);
  void arguments(Expression& node);

  TokenStream& tokens_;
  int nesting_ = 0;
};

}  // namespace pippin::chat
