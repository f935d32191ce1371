// Parses text into programs.
#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/mil/scope.h"
#include "pippin/mil/text/lexer.h"
#include "pippin/mil/text/literal.h"
#include "pippin/mil/text/names.h"
#include "pippin/mil/text/text.h"

namespace pippin::mil {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;

class Parser {
 public:
  Parser(std::string_view text, std::string_view name) : lexer_(text, name), literals_(lexer_) {}

  Program parse() {
    Program program;
    parse_header(program);
    if (lexer_.at("[")) parse_attributes(program.attributes);
    lexer_.expect("{");
    while (!lexer_.accept("}")) {
      const size_t position = lexer_.peek().position;
      if (lexer_.take_name("'func' or '}'") != "func") lexer_.fail_at(position, "expected 'func'");
      const size_t name_position = lexer_.peek().position;
      std::string name = lexer_.take_name("a function's name");
      auto function = parse_function();
      if (!program.functions.emplace(name, std::move(function)).second) {
        lexer_.fail_at(name_position, "the function '{}' is defined twice", name);
      }
    }
    if (lexer_.peek().kind != Token::Kind::End) lexer_.fail_expected("the end");
    return program;
  }

 private:
  // Runs `body`; adds this place to errors that have none.
  template <typename Body>
  decltype(auto) at(size_t position, Body&& body) {
    try {
      return body();
    } catch (const Error& error) {
      lexer_.fail_at(position, "{}", error.what());
    }
  }

  void parse_header(Program& program) {
    if (lexer_.take_name("'program'") != "program") lexer_.fail_at(0, "expected 'program'");
    lexer_.expect("(");
    const Token version = lexer_.next();
    if (version.kind != Token::Kind::Number || version.text.substr(0, 2) != "1.") {
      lexer_.fail_at(version.position, "MIL version '{}': 1.0 to 1.3 are known", version.text);
    }
    if (lexer_.accept(",")) program.doc_string = lexer_.take_string("a description");
    lexer_.expect(")");
  }

  void parse_attributes(Attributes& attributes) { literals_.parse_attributes(attributes); }

  std::unique_ptr<Function> parse_function() {
    auto function = std::make_unique<Function>();
    scope_ = Scope();
    function->opset = parse_opset_name();
    parse_vars([&](std::string name, ValueType type) {
      return function->add_input(std::move(name), std::move(type));
    });
    if (lexer_.at("[")) parse_attributes(function->attributes);
    const Scope inputs = scope_;
    if (lexer_.at("{")) function->specializations.emplace(function->opset, parse_block({}, 0));
    while (lexer_.at("<")) {
      const size_t position = lexer_.peek().position;
      const std::string opset = parse_opset_name();
      scope_ = inputs;
      if (!function->specializations.emplace(opset, parse_block({}, 0)).second) {
        lexer_.fail_at(position, "a second block for opset '{}'", opset);
      }
    }
    lexer_.expect(";");
    return function;
  }

  std::string parse_opset_name() {
    lexer_.expect("<");
    const bool quoted = lexer_.peek().kind == Token::Kind::String;
    std::string opset = lexer_.take_name("an opset");
    if (!quoted) opset = opset_of_spelling(std::move(opset));
    lexer_.expect(">");
    return opset;
  }

  // (type name, ...)
  template <typename Add>
  void parse_vars(Add&& add) {
    lexer_.expect("(");
    bool first = true;
    while (!lexer_.accept(")")) {
      if (!first) lexer_.expect(",");
      first = false;
      ValueType type = literals_.parse_type();
      const size_t position = lexer_.peek().position;
      Var* var = add(lexer_.take_name("a name"), std::move(type));
      at(position, [&] { scope_.define(var); });
    }
  }

  // { statements } -> (names) [attributes]; the block's inputs are parsed inside its scope.
  std::unique_ptr<Block> parse_block(std::unique_ptr<Block> block, int depth) {
    if (block == nullptr) {
      block = std::make_unique<Block>();
      scope_.open_block();
    }
    if (depth > kMaxBlockDepth) {
      lexer_.fail_at(lexer_.peek().position, "blocks nest deeper than {}", kMaxBlockDepth);
    }
    lexer_.expect("{");
    while (!lexer_.accept("}")) parse_operation(*block, depth);
    lexer_.expect("->");
    lexer_.expect("(");
    while (!lexer_.accept(")")) {
      if (!block->outputs().empty()) lexer_.expect(",");
      block->outputs().push_back(parse_use());
    }
    if (lexer_.at("[")) parse_attributes(block->attributes());
    scope_.close_block();
    return block;
  }

  Var* parse_use() {
    const size_t position = lexer_.peek().position;
    const std::string name = lexer_.take_name("the name of a value");
    return at(position, [&] { return scope_.at(name); });
  }

  // A literal starts with a type followed by '<' or '('; a name is followed by neither.
  Binding parse_binding() {
    const Token first = lexer_.peek();
    std::string name = lexer_.take_name("a value");
    if (first.kind == Token::Kind::Name && lexer_.at("(")) {
      const auto data_type = parse_data_type(name);
      if (!data_type) lexer_.fail_at(first.position, "'{}' is not a type", name);
      return literals_.parse_value_of(ValueType::scalar(*data_type));
    }
    if (first.kind == Token::Kind::Name && lexer_.at("<")) {
      return literals_.parse_value_of(literals_.parse_type_after(first));
    }
    return at(first.position, [&] { return scope_.at(name); });
  }

  Argument parse_argument() {
    Argument argument;
    if (!lexer_.accept("(")) {
      argument.push_back(parse_binding());
      return argument;
    }
    while (!lexer_.accept(")")) {
      if (!argument.empty()) lexer_.expect(",");
      argument.push_back(parse_binding());
    }
    return argument;
  }

  void parse_inputs(Operation& operation) {
    lexer_.expect("(");
    while (!lexer_.accept(")")) {
      if (!operation.inputs().empty()) lexer_.expect(",");
      const size_t position = lexer_.peek().position;
      std::string parameter = lexer_.take_name("a parameter");
      lexer_.expect("=");
      if (!operation.inputs().emplace(parameter, parse_argument()).second) {
        lexer_.fail_at(position, "the parameter '{}' is given twice", parameter);
      }
    }
  }

  struct Output {
    size_t position;
    std::string name;
    ValueType type;
  };

  void parse_operation(Block& block, int depth) {
    std::vector<Output> outputs;
    const Token first = lexer_.peek();
    std::string type = lexer_.take_name("a statement or '}'");
    if (!lexer_.at("(")) {  // it was the type of the first output
      do {
        ValueType output_type =
            outputs.empty() ? literals_.parse_type_after(first) : literals_.parse_type();
        const size_t position = lexer_.peek().position;
        outputs.push_back({position, lexer_.take_name("a name"), std::move(output_type)});
      } while (lexer_.accept(","));
      lexer_.expect("=");
      type = lexer_.take_name("an operation");
    }
    Operation& operation = block.append(std::move(type));
    parse_inputs(operation);
    if (lexer_.at("[")) parse_attributes(operation.attributes());
    while (lexer_.at("(")) {
      auto nested = std::make_unique<Block>();
      scope_.open_block();
      parse_vars([&](std::string name, ValueType var_type) {
        return nested->add_input(std::move(name), std::move(var_type));
      });
      operation.blocks().push_back(parse_block(std::move(nested), depth + 1));
    }
    lexer_.expect(";");
    for (Output& output : outputs) {
      Var* var = operation.add_output(std::move(output.name), std::move(output.type));
      at(output.position, [&] { scope_.define(var); });
    }
  }

  Lexer lexer_;
  LiteralParser literals_;
  Scope scope_;
};

}  // namespace

Program parse_text(std::string_view text, std::string_view name) {
  if (text.size() > kMaxBytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", name, text.size(),
         kMaxBytes);
  }
  if (!is_valid_utf8(text)) fail(ErrorCode::InvalidFile, "{}: not UTF-8 text", name);
  return Parser(text, name).parse();
}

}  // namespace pippin::mil
