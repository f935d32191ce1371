// Shape inference for a whole function, with symbols for its flexible dimensions.
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

// `input_shapes` gives the shape of every input by name (for states that are absent, their fixed
// shape is used); dimensions may be symbols. `input_elements` gives the elements, as numbers or
// symbols, of integer inputs whose values may determine shapes and positions. Every result is
// checked against the type that the program declares for it. Throws InvalidFile (a rule rejects the
// operation, or a declared type disagrees) or Unsupported (the table lacks the op), naming the
// operation.
Inference infer(const Function& function, const std::map<std::string, Shape>& input_shapes,
                const std::map<std::string, std::vector<Dim>>& input_elements = {});

// Why an operation's outputs are inferred: the program will be run, or it is about to be written.
// In the second case, anything that coremltools would read differently is rejected too
// (ops/written.h).
enum class Purpose : uint8_t { Run, Write };

// Infers one operation whose inputs are already known; used by infer() and by `array`, which
// records operations. An operation without outputs is about to get them, so there are no declared
// types to check.
std::vector<ValueInfo> infer_operation(const Operation& operation, Opset opset,
                                       const std::function<const ValueInfo&(const Var*)>& info_of,
                                       std::vector<Constraint>& constraints,
                                       Purpose purpose = Purpose::Run);

}  // namespace pippin::mil
