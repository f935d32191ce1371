#include "pippin/mil/text/text.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/error_testing.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/mil/proto/serialize.h"

namespace pippin::mil {
namespace {

// A program whose main function consists of these statements (each ends in ';').
std::string program_of(const std::string& statements, const std::string& outputs = "",
                       const std::string& opset = "ios18") {
  return "program(1.3)\n{\n    func main<" + opset + ">(tensor<fp32, [2]> x) {\n" + statements +
         "        } -> (" + outputs + ");\n}\n";
}

// Text -> program -> text, and through protobuf.
std::string through(const std::string& text) {
  Model model;
  model.program = parse_text(text, "test");
  model.functions.push_back({.name = "main"});
  const std::string bytes = serialize_model(model);
  const Model again = parse_model(as_byte_span(bytes));
  EXPECT_EQ(serialize_model(again), bytes);
  const std::string printed = print(model.program);
  EXPECT_EQ(print(again.program), printed);
  return printed;
}

std::string error_of(const std::string& text) {
  return thrown_message([&] { parse_text(text, "test"); });
}

TEST(Text, CompiledProgramsPrintAsTheyWere) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(packages)) {
    if (entry.path().filename() != "model.mil") continue;
    std::string text = read_file(entry.path());
    if (text.back() != '\n') text += '\n';  // some files lack the last line break
    EXPECT_EQ(through(text), text) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 2);
}

TEST(Text, EveryStatementFormIsKept) {
  const std::string text = program_of(
      "            fp16 eps = const()[name = string(\"eps\"), val = fp16(0x1.5p-17)];\n"
      "            tensor<fp32, [2, 2]> f = const()[val = tensor<fp32, [2, 2]>([[0x1p+0, -0x0p+0], "
      "[inf, -inf]])];\n"
      "            tensor<fp16, [3]> n = const()[val = tensor<fp16, [3]>([nan, nan(0x7d01), "
      "nan(0xfe00)])];\n"
      "            tensor<int4, [3]> i4 = const()[val = tensor<int4, [3]>([-8, 7, 0])];\n"
      "            tensor<uint3, [5]> u3 = const()[val = tensor<uint3, [5]>([1, 2, 3, 4, 7])];\n"
      "            uint64 u64 = const()[val = uint64(18446744073709551615)];\n"
      "            tensor<int64, [2]> i64 = const()[val = tensor<int64, "
      "[2]>([-9223372036854775808, "
      "9223372036854775807])];\n"
      "            tensor<uint32, [1]> u32 = const()[val = tensor<uint32, [1]>([4294967295])];\n"
      "            tensor<uint16, [1]> u16 = const()[val = tensor<uint16, [1]>([65535])];\n"
      "            tensor<fp64, [1]> f64 = const()[val = tensor<fp64, [1]>([0x1.fffffffffffffp+1023"
      "])];\n"
      "            tensor<bf16, [1]> b16 = const()[val = tensor<bf16, [1]>([0x1.8p-126])];\n"
      "            tensor<fp8e4m3fn, [2]> f8 = const()[val = tensor<fp8e4m3fn, [2]>([0x1.cp+8, "
      "-0x1p-9])];\n"
      "            tensor<int32, [0]> e = const()[val = tensor<int32, [0]>([])];\n"
      "            tensor<string, [2, 0, 3]> e2 = const()[val = tensor<string, [2, 0, 3]>([])];\n"
      "            tensor<bool, [2]> b = const()[val = tensor<bool, [2]>([true, false])];\n"
      "            string s = const()[val = string(\"a\\\"b\\\\c\\nd\\x01 \xc3\xa9 "
      "\xe4\xb8\xad \xf0\x9f\x90\xb1\")];\n"
      "            list<string, 2> l = const()[val = list<string, 2>([\"a\", \"b\"])];\n"
      "            dict<string, int32> d = const()[val = dict<string, int32>({{\"a\", 1}, {\"b\", "
      "2}})];\n"
      "            tuple<int32, tuple<>> t = const()[val = tuple<int32, tuple<>>((1, ()))];\n"
      "            tensor<fp16, [64]> w = const()[val = tensor<fp16, [64]>(BLOBFILE(path = "
      "string(\"@model_path/weights/other.bin\"), offset = uint64(64)))];\n"
      "            tensor<fp32, *> r = mystery(a = int32(1), values = (x, x), zero = ());\n"
      "            tensor<fp32, [?, 3]> c0, fp16 c1 = concat(axis = int32(-1), values = (x, "
      "tensor<fp32, [1]>([0x1p+0]), f))[name = string(\"c\")];\n"
      "            write_state(data = x, input = x);\n"
      "            tensor<fp32, [2]> \"odd name\" = \"odd op\"(\"odd parameter\" = x);\n",
      "x, c0, \"odd name\"");
  EXPECT_EQ(through(text), text);
}

TEST(Text, NestedBlocksAndBlockAttributesAreKept) {
  const std::string text = program_of(
      "            bool p = const()[val = bool(true)];\n"
      "            tensor<fp32, [2]> y = cond(pred = p)[name = string(\"y\")]\n"
      "                () {\n"
      "                    tensor<fp32, [2]> z = while_loop(loop_vars = x)\n"
      "                        (tensor<fp32, [2]> i) {\n"
      "                        } -> (p)\n"
      "                        (tensor<fp32, [2]> j) {\n"
      "                        } -> (j)[note = string(\"inner\")];\n"
      "                } -> (z)\n"
      "                () {\n"
      "                } -> (x)[a = int32(1), b = string(\"\")];\n",
      "y");
  EXPECT_EQ(through(text), text);
}

TEST(Text, FunctionsStatesAttributesAndSpecializations) {
  const std::string text =
      "program(1.3, \"what it does\")\n"
      "[buildInfo = dict<string, string>({{\"k\", \"v\"}})]\n"
      "{\n"
      "    func decode<ios18>(state<tensor<fp16, [1, 8]>> cache) [FlexibleShapeInformation = "
      "tuple<tuple<string, dict<string, tensor<int32, [?]>>>>(((\"DefaultShapes\", {{\"in\", [1, "
      "224, 224, 3]}})))] {\n"
      "            tensor<fp16, [1, 8]> c = read_state(input = cache);\n"
      "        } -> (c) <ios26> {\n"
      "            tensor<fp16, [1, 8]> c = read_state(input = cache);\n"
      "        } -> (c);\n"
      "    func prefill<ios18>() {\n"
      "        } -> ();\n"
      "}\n";
  EXPECT_EQ(through(text), text);
}

TEST(Text, FlatListsDecimalsAndCommentsAreRead) {
  const std::string text = program_of(
      "// a comment\n tensor<fp32, [2, 2]> f = const()[val = tensor<fp32, [2, 2]>([1, 2.5, -3e2, "
      "0x1P+0])];",
      "f");
  EXPECT_NE(through(text).find("[[0x1p+0, 0x1.4p+1], [-0x1.2cp+8, 0x1p+0]]"), std::string::npos);
}

TEST(Text, EmptyTensorsOfOpenShapeAreKept) {
  const std::string text = program_of(
      "            dict<string, tensor<int32, [?, ?]>> d = const()[val = dict<string, "
      "tensor<int32, "
      "[?, ?]>>({{\"a\", []}, {\"b\", [[1, 2]]}})];\n");
  EXPECT_EQ(through(text), text);
}

// Features that no known writer uses: descriptions of constants, attributes of types, weights in
// places other than operands, elements whose types differ from the declaration.
TEST(Text, OddConstantsAreKept) {
  const std::string blob = "BLOBFILE(path = string(\"@model_path/w.bin\"), offset = uint64(64))";
  const std::string text =
      "program(1.3)\n"
      "[big = tensor<fp16, [64]>(" +
      blob +
      ", doc = \"of the \\\"program\\\"\")]\n"
      "{\n"
      "    func main<ios18>(tensor<fp32, [2], [a = tensor<fp16, [64]>(" +
      blob +
      ")]> x) "
      "[of_function = tuple<tensor<fp16, [64]>>((" +
      blob +
      "))] {\n"
      "            tensor<fp32, [], [a = int32(1), b = string(\"t\")]> y = const()[val = "
      "tensor<fp32, "
      "[], [a = int32(2, doc = \"d\")]>(0x1p+0)];\n"
      "            list<int32, ...> l = const()[val = list<int32, ...>([1, int32(2, doc = "
      "\"two\"), "
      "3])];\n"
      "            dict<string, tensor<int32, [?, ?]>> d = const()[val = dict<string, "
      "tensor<int32, "
      "[?, ?]>>({{\"a\", tensor<int32, [0, 2]>([])}, {\"b\", tensor<int32, [], [k = "
      "bool(true)]>(1)}})];\n"
      "            tuple<list<int32, ?>> t = const()[val = tuple<list<int32, ?>>((list<int32, "
      "1>([1]))"
      ")];\n"
      "            tensor<fp32, *, [a = int32(1)]> z = f(p = fp32(0x1p+0, doc = \"inline\"));\n"
      "        } -> (z)[of_block = list<tensor<fp16, [?]>, 1>([tensor<fp16, [64]>(" +
      blob +
      ")])];\n"
      "}\n";
  EXPECT_EQ(through(text), text);
}

TEST(Text, ErrorsSayWhere) {
  EXPECT_EQ(error_of(""), "test:1:1: expected 'program', found the end");
  EXPECT_EQ(error_of("program(2.0) {}"), "test:1:9: MIL version '2.0': 1.0 to 1.3 are known");
  EXPECT_EQ(error_of(program_of("fp32 y = add(x = x, y = z);\n")),
            "test:4:25: 'z' is used but not defined before");
  EXPECT_EQ(error_of(program_of("fp32 x = const();\n")), "test:4:6: the name 'x' is defined twice");
  EXPECT_EQ(error_of(program_of("", "y")), "test:4:15: 'y' is used but not defined before");
  EXPECT_EQ(error_of(program_of("int4 y = const()[val = int4(8)];\n")),
            "test:4:29: expected an int4, found '8'");
  EXPECT_EQ(error_of(program_of("int8 y = const()[val = tensor<int8, [3]>([1, 2])];\n")),
            "test:4:42: a tensor<int8, [3]> needs 3 elements, 2 are here");
  EXPECT_EQ(error_of(program_of("fp32 y = f(a = tensor<fp32, [2, 2]>([[1, 2], [3]]));\n")),
            "test:4:46: a list of 1 where others have 2");
  EXPECT_NE(error_of(program_of("fp32 y = f(a = tensor<fp32, [9999999999, 9999999999]>([1]));"))
                .find("has no number of elements"),
            std::string::npos);
  EXPECT_EQ(error_of("program(1.0) { func \"abc"), "test:1:21: a string without an end");
  EXPECT_EQ(error_of("program(1.0) {\n\x01"), "test:2:1: unexpected byte 0x01");
  EXPECT_EQ(error_of("\xff"), "test: not UTF-8 text");
}

TEST(Text, BuffersAreRefusedByName) {
  const std::string text =
      "program(1.3)\n{\n    func main_ane<ios18>(tensor_buffer<fp16, shape=[1, 4], strides=[32, "
      "1], "
      "interleave_factors=[1, 1]> x) {\n        } -> (x);\n}\n";
  EXPECT_ERROR(parse_text(text, "model.mil"), ErrorCode::Unsupported,
               "model.mil:3:26: the type 'tensor_buffer' is not supported");
}

TEST(Text, NestingIsLimited) {
  std::string types = "fp32", blocks;
  for (int i = 0; i < 1000; ++i) types = "state<" + types + ">";
  EXPECT_NE(error_of(program_of(types + " y = f();")), "no error");
  for (int i = 0; i < 100000; ++i) blocks += "f() () {";
  EXPECT_NE(error_of(program_of(blocks)).find("blocks nest deeper"), std::string::npos);
  EXPECT_NE(error_of(program_of("fp32 y = f(a = tensor<fp32, [1]>(" + std::string(100000, '[')))
                .find("lists nest deeper"),
            std::string::npos);
}

// A program at the maximum depths of the text form is still within the depth that protobuf readers
// accept.
TEST(Text, TheDeepestProgramSurvivesProtobuf) {
  std::string type = "int32", value = "1", open, close;
  for (int i = 0; i < 11; ++i) {
    type = "tuple<" + type + ">";
    value = "(" + value + ")";
  }
  for (int i = 0; i < 20; ++i) {
    open += "f() () {";
    close += "} -> ();";
  }
  through(program_of(open + "g(a = " + type + "(" + value + "))[b = " + type + "(" + value + ")];" +
                     close));
  // Types that carry constants count as levels too.
  std::string attributed = "int32";
  for (int i = 0; i < 11; ++i) attributed = "tensor<int32, [1], [a = " + attributed + "([1])]>";
  attributed.replace(attributed.find("int32([1])"), 10, "int32(1)");
  const auto with = [&](const std::string& deep) {
    return program_of(open + "g(a = " + deep + "([1]))[b = " + deep + "([1])];" + close);
  };
  through(with(attributed));
  EXPECT_NE(error_of(with("tensor<int32, [1], [a = " + attributed + "([1])]>")).find("nest deeper"),
            std::string::npos);
}

}  // namespace
}  // namespace pippin::mil
