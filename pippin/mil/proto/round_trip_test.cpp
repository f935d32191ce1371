// Every package of the shared data is read, printed, parsed, written and read again.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/op_case_folders_testing.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/text/text.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> packages_in(const fs::path& folder) {
  std::vector<fs::path> packages;
  for (auto it = fs::recursive_directory_iterator(folder); it != fs::recursive_directory_iterator();
       ++it) {
    if (it->path().extension() != ".mlpackage") continue;
    packages.push_back(it->path());
    it.disable_recursion_pending();
  }
  std::sort(packages.begin(), packages.end());
  return packages;
}

// The whole model, weights included.
std::string inline_bytes(const Model& model) {
  return serialize_model(model, [](const Value&) { return std::nullopt; });
}

void check_round_trip(const fs::path& package, bool has_weights, const fs::path& scratch) {
  SCOPED_TRACE(package);
  const Model model = read_package(package);
  const std::string text = print(model.program);
  Model parsed;
  parsed.functions = {{.name = "main"}};
  parsed.program = parse_text(text, "text");
  ASSERT_EQ(print(parsed.program), text);
  ASSERT_EQ(serialize_model(parsed), [&] {
    parsed.program = parse_model(as_byte_span(serialize_model(parsed))).program;
    return serialize_model(parsed);
  }());
  ASSERT_EQ(print(parsed.program), text);

  Model again = parse_model(as_byte_span(serialize_model(model)));
  ASSERT_EQ(print(again.program), text);
  ASSERT_EQ(serialize_model(again), serialize_model(model));
  again.program = parse_text(text, "text");
  ASSERT_TRUE(serialize_model(again) == serialize_model(model));
  if (!has_weights) return;
  write_package(model, scratch);
  again = read_package(scratch);
  ASSERT_TRUE(inline_bytes(again) == inline_bytes(model));
  // The text holds everything of a program.
  const std::string values = print(model.program, {.values = true});
  ASSERT_TRUE(print(parse_text(values, "values"), {.values = true}) == values);
}

void check_packages(const fs::path& folder, size_t least) {
  const TempDir scratch;
  const auto packages = packages_in(folder);
  for (const auto& package : packages) {
    const bool has_weights = package.parent_path().filename() != "graph-only";
    check_round_trip(package, has_weights, scratch / "m.mlpackage");
  }
  EXPECT_GE(packages.size(), least);
}

TEST(RoundTrip, PackagesOfCoremltools) {
  PIPPIN_SHARED_OR_SKIP(coremltools, "coremltools");
  check_packages(coremltools, 60);
}

TEST(RoundTrip, PackagesOfOtherWriters) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  check_packages(packages, 4);
}

TEST(RoundTrip, OpCases) {
  TempDir scratch;
  int count = 0;
  for (const char* set : {"iOS14", "iOS15", "iOS16", "iOS17", "iOS18", "torch"}) {
    for (const fs::path& folder : op_case_folders(set)) {
      check_round_trip(folder / "model.mlpackage", true, scratch / "m.mlpackage");
      ++count;
    }
  }
  if (count == 0) GTEST_SKIP() << shared_data_absent("op-cases");
  RecordProperty("packages", count);
}

}  // namespace
}  // namespace pippin::mil
