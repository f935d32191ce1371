#include "pippin/cli/options/named_arrays.h"

#include <filesystem>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::cli {
namespace {

TEST(NamedArrays, ExtensionsMayBeInUpperCase) {
  for (const char* name :
       {"a.PNG", "a.png", "a.b.JPG", "a.Jpeg", "a.BMP", "a.Ppm", "a.PGM", "a.NPY"}) {
    const InputFile file = parse_input(std::string("x=") + name);
    EXPECT_EQ(file.name, "x");
    EXPECT_EQ(file.path, name);
  }
  EXPECT_EQ(parse_input("in=put.NPZ").name, "");
  EXPECT_EQ(parse_input("in=put.NPZ").path, "in=put.NPZ");
}

TEST(NamedArrays, APictureIsReadWhateverTheCaseOfItsName) {
  const TempDir dir;
  std::filesystem::copy_file(source_dir() / "fuzz/corpus/image/rgb.png", dir / "A.PNG");
  const Values values = read_inputs({parse_input("x=" + (dir / "A.PNG").string())});
  ASSERT_EQ(values.count("x"), 1U);
  EXPECT_EQ(std::get<Image>(values.at("x")).width, 3);
}

TEST(NamedArrays, NumbersAreInputs) {
  const Values values = read_inputs({parse_input("conf=0.25"), parse_input("count=-3e2")});
  for (const auto& [name, number] : {std::pair("conf", 0.25), std::pair("count", -300.0)}) {
    const Tensor& tensor = std::get<Tensor>(values.at(name));
    EXPECT_EQ(tensor.type(), DataType::Float64);
    EXPECT_EQ(tensor.shape(), (std::vector<int64_t>{1}));
    EXPECT_EQ(tensor.data<double>()[0], number);
  }
  EXPECT_ERROR(read_inputs({parse_input("x=1"), parse_input("x=2")}), ErrorCode::InvalidArgument,
               "input 'x' is given twice");
}

TEST(NamedArrays, OtherFilesAreRefused) {
  for (const char* argument :
       {"x=a.gif", "x=a.PNGX", "a.PNG", "=a.PNG", "x=", "NPZ", "", "=1", "x=1,2", "x=0x1"}) {
    EXPECT_ERROR(parse_input(argument), ErrorCode::InvalidArgument,
                 "\"" + std::string(argument) +
                     "\" is neither FILE.npz, .json, .jsonl or .csv nor NAME=NUMBER nor NAME=FILE");
  }
}

}  // namespace
}  // namespace pippin::cli
