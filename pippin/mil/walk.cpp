#include "pippin/mil/walk.h"

#include <fmt/format.h>

namespace pippin::mil {
namespace {

class ConstantWalk {
 public:
  explicit ConstantWalk(const ConstantVisit& visit) : visit_(visit) {}

  void walk(const Program& program) {
    walk_attributes(program.attributes);
    for (const auto& [name, function] : program.functions) {
      place_.function = name;
      place_.name = "type";
      for (const auto& input : function->inputs) walk_type(input->type);
      walk_attributes(function->attributes);
      for (const auto& [opset, block] : function->specializations) walk_block(*block);
    }
  }

 private:
  void walk_block(const Block& block) {
    place_.operation = nullptr;
    place_.name = "type";
    for (const auto& input : block.inputs()) walk_type(input->type);
    for (const auto& operation : block.operations()) {
      place_.operation = operation.get();
      for (const auto& [parameter, argument] : operation->inputs()) {
        place_.name = parameter;
        for (const Binding& binding : argument) {
          if (const Value* value = std::get_if<Value>(&binding)) walk_value(*value, true);
        }
      }
      for (const auto& [attribute, value] : operation->attributes()) {
        place_.name = attribute;
        walk_value(value, true);
      }
      place_.name = "type";
      for (const auto& output : operation->outputs()) walk_type(output->type);
      for (const auto& nested : operation->blocks()) walk_block(*nested);
    }
    place_.operation = nullptr;
    walk_attributes(block.attributes());
  }

  void walk_attributes(const Attributes& attributes) {
    for (const auto& [name, value] : attributes) {
      place_.name = name;
      walk_value(value, false);
    }
  }

  void walk_value(const Value& value, bool operand) {
    place_.operand = operand;
    visit_(value, place_);
    for (const Value& element : value.elements) walk_value(element, false);
    walk_type(value.type);
  }

  void walk_type(const ValueType& type) {
    if (type.attributes != nullptr) {
      for (const auto& [name, value] : type.attributes->values) walk_value(value, false);
    }
    for (const ValueType& parameter : type.parameters) walk_type(parameter);
  }

  const ConstantVisit& visit_;
  ConstantPlace place_ = {};
};

}  // namespace

std::string to_string(const ConstantPlace& place) {
  std::string result =
      place.function.empty() ? "program: " : fmt::format("function '{}': ", place.function);
  if (place.operation != nullptr) {
    const auto& outputs = place.operation->outputs();
    result += place.operation->type();
    if (!outputs.empty()) result += " '" + outputs[0]->name + "'";
    result += ": ";
  }
  return result.append(place.name);
}

void for_each_constant(const Program& program, const ConstantVisit& visit) {
  ConstantWalk(visit).walk(program);
}

void release_weights(const Program& program) {
  for_each_constant(program, [](const Value& value, const ConstantPlace&) {
    if (value.source) value.source->release();
  });
}

}  // namespace pippin::mil
