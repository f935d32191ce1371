#include "pippin/chat/parser.h"

#include <algorithm>
#include <initializer_list>

#include "pippin/base/error.h"
#include "pippin/chat/expression_parser.h"

namespace pippin::chat {
namespace {

using StatementPtr = std::unique_ptr<Statement>;

constexpr int kMaxStatementNesting = 100;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokenize(source)), expressions_(tokens_) {}

  Body run() {
    Body body = statements({});
    if (tokens_.peek().type != TokenType::End) {
      tokens_.error(fmt::format("unexpected '{}'", tokens_.peek(1).text));
    }
    return body;
  }

 private:
  using Kind = Statement::Kind;

  StatementPtr make(Kind kind) {
    auto statement = std::make_unique<Statement>();
    statement->kind = kind;
    statement->line = tokens_.peek().line;
    return statement;
  }

  // Parses up to a tag that begins with one of `ends`, and leaves its name unread.
  Body statements(std::initializer_list<std::string_view> ends) {
    if (++nesting_ > kMaxStatementNesting) tokens_.error("statements are nested too deep");
    Body body;
    while (tokens_.peek().type != TokenType::End) {
      const Token& token = tokens_.peek();
      if (token.type == TokenType::Text) {
        auto text = make(Kind::Text);
        text->text = tokens_.next().text;
        body.push_back(std::move(text));
      } else if (token.type == TokenType::OutputBegin) {
        tokens_.next();
        auto output = make(Kind::Output);
        output->expression = expressions_.tuple();
        body.push_back(std::move(output));
        tokens_.expect(TokenType::OutputEnd, "}}");
      } else {
        const Token& keyword = tokens_.peek(1);
        if (keyword.type == TokenType::Name &&
            std::find(ends.begin(), ends.end(), keyword.text) != ends.end()) {
          break;
        }
        tokens_.next();
        body.push_back(statement());
      }
    }
    --nesting_;
    return body;
  }

  // Reads "{% name", where statements() stopped; the end of the template is an error.
  std::string end_keyword(std::string_view opened) {
    if (tokens_.peek().type == TokenType::End) {
      tokens_.error(fmt::format("'{}' has no end", opened));
    }
    tokens_.next();
    return tokens_.next().text;
  }
  void close_tag() { tokens_.expect(TokenType::StatementEnd, "%}"); }
  void end_statement(std::string_view opened) {
    end_keyword(opened);
    close_tag();
  }
  Body block(std::string_view opened, std::string_view end) {
    Body body = statements({end});
    end_statement(opened);
    return body;
  }

  StatementPtr statement() {
    const Token keyword = tokens_.peek();
    if (keyword.type != TokenType::Name) tokens_.error("a statement's name is needed");
    tokens_.next();
    const std::string& name = keyword.text;
    if (name == "if") return if_statement();
    if (name == "for") return for_statement();
    if (name == "set") return set_statement();
    if (name == "macro") return macro();
    if (name == "call") return call_block();
    if (name == "filter") return filter_block();
    if (name == "with") return with();
    if (name == "generation") {
      auto scope = make(Kind::Scope);
      close_tag();
      scope->body = block(name, "endgeneration");
      return scope;
    }
    if (name == "break" || name == "continue") {
      auto jump = make(name == "break" ? Kind::Break : Kind::Continue);
      if (loops_ == 0) tokens_.error(fmt::format("'{}' outside of a loop", name));
      close_tag();
      return jump;
    }
    for (const std::string_view known :
         {"block", "extends", "include", "import", "from", "do", "autoescape", "trans"}) {
      if (name == known) {
        fail(ErrorCode::Unsupported, "chat template, line {}: the statement '{}' is not supported",
             keyword.line, name);
      }
    }
    fail(ErrorCode::InvalidFile, "chat template, line {}: unknown tag '{}'", keyword.line, name);
  }

  StatementPtr if_statement() {
    auto statement = make(Kind::If);
    std::string keyword = "if";
    while (keyword == "if" || keyword == "elif") {
      Statement::Branch branch;
      branch.condition = expressions_.tuple(false);
      close_tag();
      branch.body = statements({"elif", "else", "endif"});
      statement->branches.push_back(std::move(branch));
      keyword = end_keyword("if");
    }
    if (keyword == "else") {
      close_tag();
      statement->other = statements({"endif"});
      end_keyword("if");
    }
    close_tag();
    return statement;
  }

  StatementPtr for_statement() {
    auto statement = make(Kind::For);
    statement->target = expressions_.target(false, "in");
    tokens_.expect_name("in");
    statement->expression = expressions_.tuple(false, "recursive");
    if (tokens_.take_name("if")) statement->condition = expressions_.expression();
    statement->recursive = tokens_.take_name("recursive");
    close_tag();
    ++loops_;
    statement->body = statements({"endfor", "else"});
    --loops_;
    if (end_keyword("for") == "else") {
      close_tag();
      statement->other = statements({"endfor"});
      end_keyword("for");
    }
    close_tag();
    return statement;
  }

  StatementPtr set_statement() {
    auto statement = make(Kind::Set);
    statement->target = expressions_.target(true, "");
    if (tokens_.take_operator("=")) {
      statement->expression = expressions_.tuple();
      close_tag();
      return statement;
    }
    statement->kind = Kind::SetBlock;
    if (tokens_.take_operator("|")) statement->expression = expressions_.filters();
    close_tag();
    statement->body = block("set", "endset");
    return statement;
  }

  std::vector<Parameter> parameters() {
    std::vector<Parameter> result;
    tokens_.expect_operator("(");
    while (!tokens_.take_operator(")")) {
      if (!result.empty()) tokens_.expect_operator(",");
      Parameter parameter;
      parameter.name = tokens_.expect(TokenType::Name, "a parameter's name").text;
      if (tokens_.take_operator("=")) {
        parameter.fallback = expressions_.expression();
      } else if (!result.empty() && result.back().fallback) {
        tokens_.error("a parameter without a default follows one with a default");
      }
      result.push_back(std::move(parameter));
    }
    return result;
  }

  // Parses a macro's body, which is not part of the loops around it.
  void macro_body(Statement& statement, std::string_view opened, std::string_view end) {
    close_tag();
    const int loops = std::exchange(loops_, 0);
    expressions_.names_seen.clear();
    statement.body = block(opened, end);
    loops_ = loops;
    const auto& seen = expressions_.names_seen;
    statement.takes_more = seen.contains("varargs");
    statement.takes_more_named = seen.contains("kwargs");
  }

  StatementPtr macro() {
    auto statement = make(Kind::Macro);
    statement->text = tokens_.expect(TokenType::Name, "a macro's name").text;
    statement->parameters = parameters();
    macro_body(*statement, "macro", "endmacro");
    return statement;
  }

  StatementPtr call_block() {
    auto statement = make(Kind::CallBlock);
    if (tokens_.peek().type == TokenType::Operator && tokens_.peek().text == "(") {
      statement->parameters = parameters();
    }
    statement->expression = expressions_.expression();
    if (statement->expression->kind != Expression::Kind::Call) tokens_.error("a call is needed");
    macro_body(*statement, "call", "endcall");
    return statement;
  }

  StatementPtr filter_block() {
    auto statement = make(Kind::Filter);
    statement->expression = expressions_.filters();
    close_tag();
    statement->body = block("filter", "endfilter");
    return statement;
  }

  StatementPtr with() {
    auto statement = make(Kind::With);
    while (tokens_.peek().type != TokenType::StatementEnd) {
      if (!statement->assignments.empty()) tokens_.expect_operator(",");
      Target target = expressions_.target(false, "");
      tokens_.expect_operator("=");
      statement->assignments.emplace_back(std::move(target), expressions_.expression());
    }
    close_tag();
    statement->body = block("with", "endwith");
    return statement;
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int nesting_ = 0;
  int loops_ = 0;
};

}  // namespace

Body parse(std::string_view source) {
  return Parser(source).run();
}

}  // namespace pippin::chat
