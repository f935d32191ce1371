#include "pippin/mil/check/verify.h"

#include <gtest/gtest.h>

#include "pippin/base/error_testing.h"
#include "pippin/mil/text/text.h"

namespace pippin::mil {
namespace {

std::string error_of(const Program& program) {
  return thrown_message([&] { verify(program); });
}

std::string error_of_text(const std::string& statements, const std::string& opset = "ios18") {
  return error_of(parse_text("program(1.3) { func main<" + opset +
                                 ">(tensor<fp32, [2]> x, state<tensor<fp16, [2]>> s) {" +
                                 statements + "} -> (x); }",
                             "test"));
}

TEST(Verify, GoodProgramsPass) {
  EXPECT_EQ(error_of_text("tensor<fp32, [2]> y = add(x = x, y = x);"
                          "tensor<fp16, [2]> c = read_state(input = s);"
                          "write_state(input = s, data = c);"
                          "fp32 z = an_op_that_nobody_knows(a = x);"),
            "no error");
}

TEST(Verify, OperationsAreCheckedAgainstTheTable) {
  EXPECT_EQ(error_of_text("tensor<fp32, [2]> y = add(x = x);"),
            "function 'main': block for CoreML8: add 'y': parameter 'y' is missing");
  EXPECT_NE(
      error_of_text("tensor<fp32, [2]> y = add(x = x, y = x, z = x);").find("has no parameter 'z'"),
      std::string::npos);
  EXPECT_NE(
      error_of_text("tensor<fp32, [2]> y = add(x = x, y = (x, x));").find("takes one value, not 2"),
      std::string::npos);
  EXPECT_NE(error_of_text("tensor<fp32, [2]> y = add(x = x, y = string(\"a\"));")
                .find("does not take a tensor<string, []>"),
            std::string::npos);
  EXPECT_NE(error_of_text("tensor<fp32, [2]> y = add(x = x, y = s);").find("takes no state"),
            std::string::npos);
  EXPECT_NE(error_of_text("tensor<fp16, [2]> y = read_state(input = x);").find("takes a state"),
            std::string::npos);
  EXPECT_NE(error_of_text("tensor<fp16, [2]> y = read_state(input = s);", "ios17")
                .find("needs opset CoreML8, the function has CoreML7"),
            std::string::npos);
  EXPECT_NE(error_of_text("tensor<fp32, [2]> y, fp32 z = add(x = x, y = x);").find("2 outputs"),
            std::string::npos);
}

TEST(Verify, ConstantsMustBeOfTheirType) {
  EXPECT_NE(error_of_text("tensor<fp32, [3]> c = const()[val = tensor<fp32, [2]>([0, 0])];")
                .find("a tensor<fp32, [3]> with a value of type tensor<fp32, [2]>"),
            std::string::npos);
  EXPECT_NE(error_of_text("fp32 c = const();").find("not one output with the attribute 'val'"),
            std::string::npos);
  Program program = parse_text(
      "program(1.0) { func main<ios16>() { int32 c = const()[val = int32(1)]; } -> (c); }", "test");
  Value& value = program.function("main").block().operations()[0]->attributes()["val"];
  value.bytes.pop_back();
  EXPECT_NE(error_of(program).find("needs 4 bytes, the constant has 3"), std::string::npos);
  value.bytes.resize(4);
  value.type.dims = {-7};
  EXPECT_NE(error_of(program).find("a malformed type"), std::string::npos);
}

TEST(Verify, NamesAndBindingsAreChecked) {
  Program program = parse_text(
      "program(1.0) { func a<ios16>(fp32 x) { fp32 y = relu(x = x); } -> (y);"
      " func b<ios16>(fp32 x) { fp32 y = relu(x = x); fp32 z = relu(x = y); } -> (z); }",
      "test");
  EXPECT_EQ(error_of(program), "no error");
  Block& a = program.function("a").block();
  Block& b = program.function("b").block();
  Var* own = b.outputs()[0];
  b.outputs()[0] = a.outputs()[0];
  EXPECT_NE(error_of(program).find("'y' is a value of another function"), std::string::npos);
  b.outputs()[0] = own;
  std::swap(b.operations()[0], b.operations()[1]);
  EXPECT_NE(error_of(program).find("'y' is used but not defined before"), std::string::npos);
  std::swap(b.operations()[0], b.operations()[1]);
  own->name = "y";
  EXPECT_NE(error_of(program).find("the name 'y' is defined twice"), std::string::npos);
  own->name = "\xff";
  EXPECT_NE(error_of(program).find("not UTF-8"), std::string::npos);
  own->name = "z";
  program.function("b").opset = "CoreML8";
  EXPECT_NE(error_of(program).find("no block for its opset 'CoreML8'"), std::string::npos);
  EXPECT_NE(error_of(Program()).find("without functions"), std::string::npos);
}

}  // namespace
}  // namespace pippin::mil
