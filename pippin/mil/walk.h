// Visits of every constant of a program.
#pragma once

#include "pippin/mil/program.h"

namespace pippin::mil {

// What a visit is told of the place of a constant.
struct ConstantPlace {
  const std::string& function;
  const Operation& operation;
  std::string_view name;  // of the parameter or attribute
};

// "function 'main': const 'w': val"
inline std::string to_string(const ConstantPlace& place) {
  const std::string value =
      place.operation.outputs().empty() ? "" : " '" + place.operation.output()->name + "'";
  return "function '" + place.function + "': " + place.operation.type() + value + ": " +
         std::string(place.name);
}

// Calls visit(value, place) for every literal that an operation has as parameter or attribute, in
// the order of the program: these are the constants that may live in weight files. The program is
// taken as const; a visit that owns the program may cast the value back.
template <typename Visit>
void for_each_constant(const Program& program, Visit&& visit) {
  for (const auto& [name, function] : program.functions) {
    for (const auto& [opset, block] : function->specializations) {
      for_each_operation(*block, [&, &function_name = name](const Operation& operation) {
        for (const auto& [parameter, argument] : operation.inputs()) {
          for (const Binding& binding : argument) {
            if (const Value* value = std::get_if<Value>(&binding)) {
              visit(*value, ConstantPlace{function_name, operation, parameter});
            }
          }
        }
        for (const auto& [attribute, value] : operation.attributes()) {
          visit(value, ConstantPlace{function_name, operation, attribute});
        }
      });
    }
  }
}

}  // namespace pippin::mil
