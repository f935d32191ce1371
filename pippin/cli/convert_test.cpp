#include "pippin/cli/convert.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/base/file.h"
#include "pippin/base/output.h"
#include "pippin/base/testing.h"
#include "pippin/cli/progress.h"
#include "pippin/mil/package.h"
#include "pippin/mil/text.h"
#include "pippin/models/registry.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

const auto kSilent = [](uint64_t, uint64_t) {};

size_t num_entries(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// What a program is but for where its weights lie.
void expect_same(const mil::Block& a, const mil::Block& b) {
  ASSERT_EQ(a.operations().size(), b.operations().size());
  for (size_t i = 0; i < a.operations().size(); ++i) {
    const mil::Operation &x = *a.operations()[i], &y = *b.operations()[i];
    ASSERT_EQ(x.type(), y.type());
    ASSERT_EQ(x.inputs().size(), y.inputs().size());
    for (const auto& [name, argument] : x.inputs()) {
      const mil::Argument* other = y.find_input(name);
      ASSERT_NE(other, nullptr) << name;
      ASSERT_EQ(argument.size(), other->size());
      for (size_t j = 0; j < argument.size(); ++j) {
        ASSERT_EQ(std::get<mil::Var*>(argument[j])->name, std::get<mil::Var*>((*other)[j])->name);
      }
    }
    ASSERT_EQ(x.outputs().size(), y.outputs().size());
    for (size_t j = 0; j < x.outputs().size(); ++j) {
      ASSERT_EQ(x.output(j)->name, y.output(j)->name);
      ASSERT_EQ(x.output(j)->type, y.output(j)->type);
    }
    for (const auto& [name, value] : x.attributes()) {
      ASSERT_TRUE(mil::equal(value, y.attributes().at(name))) << x.type() << " " << name;
    }
  }
}

TEST(Convert, ThePackageIsTheRecordedProgram) {
  PIPPIN_SHARED_OR_SKIP(folder, "models/stories260K");
  const TempDir scratch;
  const fs::path output = scratch / "stories.mlpackage";
  const ConvertResult result = convert(folder, output, {}, kSilent);
  EXPECT_EQ(result.parameters, 260032);
  EXPECT_EQ(result.context, 512);
  EXPECT_EQ(num_entries(scratch.path()), 1u);

  const mil::Model recorded = models::build(folder), read = mil::read_package(output);
  const mil::Function &a = recorded.program.function("main"), &b = read.program.function("main");
  ASSERT_EQ(a.inputs.size(), b.inputs.size());
  for (const auto& input : a.inputs) {
    const mil::Var* other = b.find_input(input->name);
    ASSERT_NE(other, nullptr) << input->name;
    EXPECT_EQ(other->type, input->type);
  }
  EXPECT_EQ(a.opset, b.opset);
  expect_same(a.block(), b.block());

  const mil::FunctionDescription& main = read.description("main");
  ASSERT_EQ(main.inputs.size(), 2u);
  EXPECT_EQ(main.inputs[1].name, "causalMask");
  EXPECT_EQ(main.inputs[1].ranges,
            (std::vector<mil::SizeRange>{{1, 1}, {1, 1}, {1, 512}, {1, 512}}));
  ASSERT_EQ(main.states.size(), 2u);
  EXPECT_EQ(main.states[0].shape, (std::vector<int64_t>{5, 1, 4, 512, 8}));
  EXPECT_EQ(read.metadata.user_defined.at("co.huggingface.exporters.name"), "stories260K");
  const fs::path files = output / "Data" / std::string(mil::kTokenizerItem);
  for (const char* name : {"config.json", "tokenizer.json", "generation_config.json"}) {
    EXPECT_EQ(read_file(files / name), read_file(folder / name)) << name;
  }
}

TEST(Convert, CancellingLeavesWhatWasThere) {
  PIPPIN_SHARED_OR_SKIP(folder, "models/stories260K");
  const TempDir scratch;
  const fs::path output = scratch / "m.mlpackage";
  const auto cancel = [](uint64_t, uint64_t) { request_cancel(); };
  EXPECT_THROW(convert(folder, output, {}, cancel), Error);
  reset_cancel();
  EXPECT_EQ(num_entries(scratch.path()), 0u);

  convert(folder, output, {.context = 64}, kSilent);
  const std::string before = read_file(output / "Manifest.json");
  EXPECT_THROW(convert(folder, output, {.context = 128}, cancel), Error);
  reset_cancel();
  EXPECT_EQ(num_entries(scratch.path()), 1u);
  EXPECT_EQ(read_file(output / "Manifest.json"), before);
}

// The largest file that may be written stands for a full disk.
TEST(Convert, AFullDiskLeavesNothing) {
  PIPPIN_SHARED_OR_SKIP(folder, "models/stories260K");
  const TempDir scratch;
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(convert(folder, scratch / "m.mlpackage", {}, kSilent), Error);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(num_entries(scratch.path()), 0u);
}

TEST(Convert, OnlyPackagesAreReplaced) {
  PIPPIN_SHARED_OR_SKIP(folder, "models/stories260K");
  const TempDir scratch;
  EXPECT_THROW(convert(folder, scratch / "m", {}, kSilent), Error);
  fs::create_directory(scratch / "mine.mlpackage");
  write_file(scratch.path() / "mine.mlpackage" / "notes.txt", "mine");
  EXPECT_THROW(convert(folder, scratch / "mine.mlpackage", {}, kSilent), Error);
  EXPECT_EQ(read_file(scratch.path() / "mine.mlpackage" / "notes.txt"), "mine");
  convert(folder, scratch / "m.mlpackage", {.context = 64}, kSilent);
  convert(folder, scratch / "m.mlpackage", {.context = 128}, kSilent);
  EXPECT_EQ(mil::read_package(scratch / "m.mlpackage").description("main").states[0].shape[3], 128);
}

TEST(Progress, DrawsBarsAndNothingForTheQuick) {
  EXPECT_EQ(progress_bar(0.0, 4), "[>   ]");
  EXPECT_EQ(progress_bar(0.5, 4), "[==> ]");
  EXPECT_EQ(progress_bar(1.0, 4), "[====]");

  std::FILE* out = std::tmpfile();
  ASSERT_NE(out, nullptr);
  {
    Progress lines("Converting", Progress::Style::Lines, out);
    for (uint64_t done = 0; done <= 100; ++done) lines.update(done, 100);
  }
  EXPECT_EQ(std::ftell(out), 0);
  {
    Progress bar("Converting", Progress::Style::Bar, out);
    bar.update(50, 100);
  }
  EXPECT_GT(std::ftell(out), 0);
  std::fclose(out);
}

}  // namespace
}  // namespace pippin::cli
