#include "pippin/cli/output_files.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::cli {
namespace {

FeatureInfo output(const std::string& name, FeatureInfo::Kind kind) {
  FeatureInfo feature;
  feature.name = name;
  feature.kind = kind;
  return feature;
}

TEST(OutputFiles, AreOfOneOutputOrAll) {
  for (const char* name : {"a.npz", "a.JSON", "b=c.npz", "x/y=z.png", "=a.npy"}) {
    EXPECT_EQ(parse_output(name).name, "") << name;
    EXPECT_EQ(parse_output(name).path, name);
  }
  EXPECT_EQ(parse_output("y=x/a=b.NPY").name, "y");
  EXPECT_EQ(parse_output("y=x/a=b.NPY").path, "x/a=b.NPY");
  for (const char* name : {"", "a", "a.txt", "y=a", "png"}) {
    EXPECT_ERROR(parse_output(name), ErrorCode::InvalidArgument,
                 "is neither FILE.npz, .json, .jsonl or .csv nor");
  }
}

TEST(OutputFiles, TheOnlyFittingOutputNeedsNoName) {
  const std::vector<FeatureInfo> outputs = {output("picture", FeatureInfo::Kind::Image),
                                            output("odds", FeatureInfo::Kind::Dictionary),
                                            output("array", FeatureInfo::Kind::MultiArray)};
  std::vector<OutputFile> files = {{"", "a.png"}, {"array", "b.npy"}, {"", "c.npz"}};
  resolve_outputs(files, outputs);
  EXPECT_EQ(files[0].name, "picture");
  EXPECT_EQ(files[1].name, "array");
  EXPECT_EQ(files[2].name, "");
  files = {{"odds", "a.npy"}};
  EXPECT_ERROR(resolve_outputs(files, outputs), ErrorCode::InvalidArgument,
               "the output 'odds' is a dictionary");
  files = {{"", "a.npy"}};
  EXPECT_ERROR(resolve_outputs(files, outputs), ErrorCode::InvalidArgument,
               "holds one of 2 outputs; name it, NAME=a.npy, or write all into an .npz: picture, "
               "array");
}

}  // namespace
}  // namespace pippin::cli
