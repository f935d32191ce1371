// Shape inference of a whole function, with symbols for its flexible dimensions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "pippin/mil/dim.h"
#include "pippin/mil/ops/op.h"
#include "pippin/mil/program.h"

namespace pippin::mil {

struct Inference {
  std::unordered_map<const Var*, ValueInfo>
      values;  // every Var of the function, nested blocks included
  std::vector<Constraint> constraints;
  const ValueInfo& of(const Var* var) const { return values.at(var); }
};

// `input_shapes` gives the shape of every input, by name (states too: their fixed shape is used if
// absent); dimensions may be symbols. Every result is checked against the type that the program
// declares for it. `input_elements` gives integer inputs whose values may decide shapes and
// positions their elements, as numbers or symbols. Throws InvalidFile (a rule refuses, a declared
// type disagrees) or Unsupported (an op that the table lacks), naming the operation.
Inference infer(const Function& function, const std::map<std::string, Shape>& input_shapes,
                const std::map<std::string, std::vector<Dim>>& input_elements = {});

// Why an operation's outputs are inferred: what was read is to run, or it is about to be written,
// and then what coremltools would not read as Pippin does is refused too (ops/written.h).
enum class Purpose : uint8_t { Run, Write };

// Infers one operation whose inputs are already known; the building block of the above and of
// `array`, which writes them. An operation without outputs is one that is about to get them:
// nothing is compared.
std::vector<ValueInfo> infer_operation(const Operation& operation, Opset opset,
                                       const std::function<const ValueInfo&(const Var*)>& info_of,
                                       std::vector<Constraint>& constraints,
                                       Purpose purpose = Purpose::Run);

}  // namespace pippin::mil
