// Casts of numbers that the target type cannot hold, against the reference.
#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

void expect_agreement(const std::string& from, const std::string& to) {
  SCOPED_TRACE(from + " to " + to);
  ProgramText text("tensor<fp32, [64]> x");
  text.number("from", "string", "\"" + from + "\"").number("to", "string", "\"" + to + "\"");
  text.number("back", "string", "\"fp32\"").number("far", "fp32", "0x1p+20");
  text.op("scaled", "tensor<fp32, [64]>", "mul(x = x, y = far)");
  text.op("a", "tensor<" + from + ", [64]>", "cast(x = scaled, dtype = from)");
  text.op("b", "tensor<" + to + ", [64]>", "cast(x = a, dtype = to)");
  text.op("y", "tensor<fp32, [64]>", "cast(x = b, dtype = back)");
  const mil::Model model = text.returns("y");
  for (const Precision precision : {Precision::Exact, Precision::Fast}) {
    expect_same_values(model, {{{64}}}, {Fill::Ordinary, Fill::Large, Fill::Zeros, Fill::Extremes},
                       0, precision);
  }
}

TEST(CastRules, NumbersBeyondTheTypeAreTheReferences) {
  for (const char* to : {"int8", "uint8", "int16", "uint16", "int32"}) {
    expect_agreement("fp32", to);
    expect_agreement("int32", to);
  }
}

}  // namespace
}  // namespace pippin::engine
