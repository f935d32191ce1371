// Models from the text of one function, for the tests of plans.
#pragma once

#include <string>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/model.h"
#include "pippin/mil/text/text.h"

namespace pippin::engine {

// A model with a program's only function: unknown dimensions range from 1 to 64.
inline mil::Model make_model(const std::string& body) {
  mil::Model model;
  model.program = mil::parse_text(
      "program(1.3)\n[buildInfo = dict<string, string>({})]\n{\n" + body + "\n}\n", "test");
  mil::verify(model.program);
  mil::FunctionDescription description;
  description.name = "main";
  const mil::Function& function = model.program.function("main");
  for (const auto& input : function.inputs) {
    mil::Feature feature;
    feature.name = input->name;
    const mil::ValueType& type = input->type.is_state() ? input->type.parameters[0] : input->type;
    feature.data_type = type.data_type;
    for (const int64_t dim : type.dims) {
      feature.shape.push_back(dim < 0 ? 1 : dim);
      feature.ranges.push_back(dim < 0 ? mil::SizeRange{1, 64} : mil::SizeRange{dim, dim});
    }
    if (input->type.is_state()) feature.kind = mil::Feature::Kind::State;
    (input->type.is_state() ? description.states : description.inputs).push_back(feature);
  }
  for (const mil::Var* var : function.block().outputs()) {
    mil::Feature feature;
    feature.name = var->name;
    feature.data_type = var->type.data_type;
    description.outputs.push_back(feature);
  }
  model.functions.push_back(std::move(description));
  return model;
}

// The code and message of the Error that the call throws; Internal if it throws none.
template <typename Body>
std::pair<ErrorCode, std::string> fault(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ErrorCode::Internal, "no error"};
}

}  // namespace pippin::engine
