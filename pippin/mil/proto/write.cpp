// Programs to protobuf.
#include "coreml.pb.h"
#include "pippin/mil/proto/proto.h"

namespace pippin::mil {
namespace {

class ProgramWriter {
 public:
  explicit ProgramWriter(const BlobOf& blob_of) : blob_of_(blob_of) {}

  void write(const Program& program, proto::Program& message) {
    message.set_version(program.version);
    message.set_doc_string(program.doc_string);
    write_attributes(program.attributes, message);
    for (const auto& [name, function] : program.functions) {
      auto* entry = message.add_functions();
      entry->set_key(name);
      write_function(*function, *entry->mutable_value());
    }
  }

 private:
  template <typename Message>
  void write_attributes(const Attributes& attributes, Message& message) {
    for (const auto& [name, value] : attributes) {
      auto* entry = message.add_attributes();
      entry->set_key(name);
      write_value(value, blob_of_, *entry->mutable_value());
    }
  }

  void write_var(const Var& var, proto::NamedValueType& message) {
    message.set_name(var.name);
    write_type(var.type, blob_of_, *message.mutable_type());
  }

  void write_function(const Function& function, proto::Function& message) {
    for (const auto& input : function.inputs) write_var(*input, *message.add_inputs());
    message.set_opset(function.opset);
    write_attributes(function.attributes, message);
    for (const auto& [opset, block] : function.specializations) {
      auto* entry = message.add_block_specializations();
      entry->set_key(opset);
      write_block(*block, *entry->mutable_value());
    }
  }

  void write_block(const Block& block, proto::Block& message) {
    for (const auto& input : block.inputs()) write_var(*input, *message.add_inputs());
    for (const auto& operation : block.operations()) {
      write_operation(*operation, *message.add_operations());
    }
    for (const Var* output : block.outputs()) message.add_outputs(output->name);
    write_attributes(block.attributes(), message);
  }

  void write_operation(const Operation& operation, proto::Operation& message) {
    message.set_type(operation.type());
    for (const auto& [parameter, argument] : operation.inputs()) {
      auto* entry = message.add_inputs();
      entry->set_key(parameter);
      entry->mutable_value();
      for (const Binding& binding : argument) {
        auto* target = entry->mutable_value()->add_arguments();
        if (const Value* value = std::get_if<Value>(&binding)) {
          write_value(*value, blob_of_, *target->mutable_value());
        } else {
          target->set_name(std::get<Var*>(binding)->name);
        }
      }
    }
    for (const auto& output : operation.outputs()) write_var(*output, *message.add_outputs());
    for (const auto& block : operation.blocks()) write_block(*block, *message.add_blocks());
    write_attributes(operation.attributes(), message);
  }

  const BlobOf& blob_of_;
};

}  // namespace

void write_program(const Program& program, const BlobOf& blob_of, proto::Program& message) {
  ProgramWriter(blob_of).write(program, message);
}

}  // namespace pippin::mil
