// Reads programs from protobuf: names become pointers.
#include "coreml.pb.h"
#include "pippin/base/error.h"
#include "pippin/mil/proto/proto.h"
#include "pippin/mil/scope.h"

namespace pippin::mil {
namespace {

// Calls read(entry, key) for the entries of the format's maps; keys must be unique.
template <typename Entries, typename Target, typename Read>
void read_map(const Entries& entries, std::string_view what, Target& target, Read&& read) {
  for (const auto& entry : entries) {
    std::string key = read_text(entry.key(), what);
    if (target.find(key) != target.end()) {
      fail(ErrorCode::InvalidFile, "the {} '{}' is given twice", what, key);
    }
    auto value = with_context(fmt::format("{} '{}'", what, key), [&] { return read(entry); });
    target.emplace(std::move(key), std::move(value));
  }
}

template <typename Entries>
void read_attributes(const Entries& entries, Attributes& attributes) {
  read_map(entries, "attribute", attributes,
           [](const proto::ValueEntry& entry) { return read_value(entry.value()); });
}

class FunctionReader {
 public:
  std::unique_ptr<Function> read(const proto::Function& message) {
    auto function = std::make_unique<Function>();
    for (const auto& input : message.inputs()) {
      Var* var = function->add_input(read_text(input.name(), "an input's name"), {});
      with_context(fmt::format("input '{}'", var->name), [&] {
        var->type = read_type(input.type());
        scope_.define(var);
      });
    }
    function->opset = read_text(message.opset(), "the opset");
    read_attributes(message.attributes(), function->attributes);
    // Each specialization repeats the whole function, so each may use the same names.
    const Scope inputs = scope_;
    read_map(message.block_specializations(), "block", function->specializations,
             [&](const proto::BlockEntry& entry) {
               scope_ = inputs;
               return read_block(entry.value());
             });
    return function;
  }

 private:
  std::unique_ptr<Block> read_block(const proto::Block& message) {
    auto block = std::make_unique<Block>();
    scope_.open_block();
    for (const auto& input : message.inputs()) {
      scope_.define(
          block->add_input(read_text(input.name(), "a block input"), read_type(input.type())));
    }
    for (const auto& operation : message.operations()) read_operation(operation, *block);
    for (const auto& output : message.outputs()) {
      block->outputs().push_back(
          with_context("block output", [&] { return scope_.at(read_text(output, "its name")); }));
    }
    read_attributes(message.attributes(), block->attributes());
    scope_.close_block();
    return block;
  }

  void read_operation(const proto::Operation& message, Block& block) {
    Operation& operation = block.append(read_text(message.type(), "an operation's type"));
    const std::string name = message.outputs().empty() ? "" : message.outputs(0).name();
    with_context(fmt::format("{} '{}'", operation.type(), read_text(name, "a value's name")), [&] {
      read_map(message.inputs(), "parameter", operation.inputs(),
               [&](const proto::ArgumentEntry& entry) { return read_argument(entry.value()); });
      read_attributes(message.attributes(), operation.attributes());
      for (const auto& nested : message.blocks()) operation.blocks().push_back(read_block(nested));
      for (const auto& output : message.outputs()) {
        scope_.define(operation.add_output(read_text(output.name(), "a value's name"),
                                           read_type(output.type())));
      }
    });
  }

  Argument read_argument(const proto::Argument& message) {
    Argument argument;
    for (const auto& binding : message.arguments()) {
      switch (binding.binding_case()) {
        case proto::Binding::kName:
          argument.emplace_back(scope_.at(read_text(binding.name(), "a name")));
          break;
        case proto::Binding::kValue:
          argument.emplace_back(read_value(binding.value()));
          break;
        case proto::Binding::BINDING_NOT_SET:
          fail(ErrorCode::InvalidFile, "bound to nothing");
      }
    }
    return argument;
  }

  Scope scope_;
};

}  // namespace

Program read_program(const proto::Program& message) {
  Program program;
  program.version = message.version();
  program.doc_string = read_text(message.doc_string(), "the program's description");
  read_attributes(message.attributes(), program.attributes);
  read_map(message.functions(), "function", program.functions,
           [](const proto::FunctionEntry& entry) { return FunctionReader().read(entry.value()); });
  return program;
}

}  // namespace pippin::mil
