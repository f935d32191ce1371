#include "pippin/app/convert/convert.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pippin/app/convert/package_output.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/text/text.h"
#include "pippin/models/registry.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

size_t num_entries(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Compares programs except for the locations of their weights.
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
  const fs::path folder = demo_model_folder();
  const TempDir scratch;
  const fs::path output = scratch / "stories.mlpackage";
  const ConvertResult result = convert(folder, output);
  EXPECT_EQ(result.parameters, 2755008);
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
  EXPECT_EQ(main.states[0].shape, (std::vector<int64_t>{6, 1, 2, 512, 32}));
  EXPECT_EQ(read.metadata.user_defined.at("co.huggingface.exporters.name"), "model");
  const fs::path files = output / "Data" / std::string(mil::kTokenizerItem);
  for (const char* name : {"config.json", "tokenizer.json", "generation_config.json"}) {
    EXPECT_EQ(read_file(files / name), read_file(folder / name)) << name;
  }
}

TEST(Convert, CancellingLeavesWhatWasThere) {
  const fs::path folder = demo_model_folder();
  const TempDir scratch;
  const fs::path output = scratch / "m.mlpackage";
  CancelToken token;
  const CancelScope scope(token);
  const auto cancel = [&](uint64_t, uint64_t) { token.request(); };
  EXPECT_ERROR(convert(folder, output, {.progress = cancel}), ErrorCode::Cancelled, "cancelled");
  token.reset();
  EXPECT_EQ(num_entries(scratch.path()), 0u);

  convert(folder, output, {.context = 64});
  const std::string before = read_file(output / "Manifest.json");
  EXPECT_ERROR(convert(folder, output, {.context = 128, .progress = cancel}), ErrorCode::Cancelled,
               "cancelled");
  EXPECT_EQ(num_entries(scratch.path()), 1u);
  EXPECT_EQ(read_file(output / "Manifest.json"), before);
}

// A limit on file size simulates a full disk.
TEST(Convert, AFullDiskLeavesNothing) {
  const fs::path folder = demo_model_folder();
  const TempDir scratch;
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_ERROR(convert(folder, scratch / "m.mlpackage"), ErrorCode::Io, "File too large");
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(num_entries(scratch.path()), 0u);
}

TEST(Convert, OnlyPackagesAreReplaced) {
  const fs::path folder = demo_model_folder();
  const TempDir scratch;
  EXPECT_ERROR(convert(folder, scratch / "m"), ErrorCode::InvalidArgument,
               "/m: the output has to end in .mlpackage");
  fs::create_directory(scratch / "mine.mlpackage");
  write_file(scratch.path() / "mine.mlpackage" / "notes.txt", "mine");
  EXPECT_ERROR(convert(folder, scratch / "mine.mlpackage"), ErrorCode::InvalidArgument,
               "mine.mlpackage: exists and is not a package, so it is not replaced");
  EXPECT_EQ(read_file(scratch.path() / "mine.mlpackage" / "notes.txt"), "mine");
  convert(folder, scratch / "m.mlpackage", {.context = 64});
  convert(folder, scratch / "m.mlpackage", {.context = 128});
  EXPECT_EQ(mil::read_package(scratch / "m.mlpackage").description("main").states[0].shape[3], 128);
}

// Before anything is read or downloaded.
TEST(Convert, RefusesOptionsThatCannotBe) {
  const TempDir scratch;
  const auto refused = [&](const ConvertOptions& options, const char* message) {
    EXPECT_ERROR(check_convert_options("org/name", options), ErrorCode::InvalidArgument, message);
    EXPECT_ERROR(convert(scratch.path(), scratch / "m", options), ErrorCode::InvalidArgument,
                 message);
  };
  refused({.family = "other"}, "--family other: stateful, encoder, anemll, windowed or whisperkit");
  refused({.family = "anemll", .prefill_length = 8},
          "--prefill: only for --family stateful, not anemll");
  refused({.family = "windowed", .query_lengths = {1}}, "--query-lengths: only for --family");
  refused({.family = "windowed", .adapters = {{"a", "b"}}}, "--adapter: only for --family");
  refused({.prefill_length = -1}, "--prefill -1: not a number from 0 to");
  refused({.batch = 4097}, "--batch 4097: not a number from 0 to 4096");
  refused({.chunks = -1}, "--chunks -1: not a number from 0 to");
  refused({.max_chunk_bytes = 0}, "--max-chunk-mb 0: ios, macos or a number above 0");
  refused({.blocks_per_chunk = 0}, "--blocks-per-chunk 0: not a number from 1 to 10000");
  refused({.window = 0}, "--window 0: not a number from 1 to 4096");
  refused({.cache = 0}, "--cache 0: not a number from 1 to 1048576");
  ConvertOptions options;
  options.compression.calibrate = "text";
  refused(options, "--calibrate without a way to compress");
  options.compression.mixed = 4;
  EXPECT_NO_THROW(check_convert_options("org/name", options));
  options.family = "anemll";
  refused(options, "--calibrate: only for --family stateful, not anemll");
  options.compression.palettize = 4;
  refused(options, "--mixed chooses forms itself");

  write_file(scratch / "config.json", "{}");
  EXPECT_ERROR(check_convert_options(scratch / "config.json", {}), ErrorCode::InvalidArgument,
               "config.json: a file; a model is a folder, a package or a .gguf");
  EXPECT_ERROR(check_convert_options(scratch.path(), {.random_weights = true}),
               ErrorCode::InvalidArgument, "--random-weights takes the path of a config.json");
}

// The two families with several packages.
class ConvertFamily : public testing::TestWithParam<std::string> {
 protected:
  ConvertResult run(const fs::path& source, const fs::path& output,
                    const std::function<void(uint64_t, uint64_t)>& progress = nullptr) const {
    ConvertOptions options;
    options.family = GetParam();
    options.context = 128;
    options.chunks = 2;
    options.progress = progress;
    return convert(source, output, options);
  }
};

TEST_P(ConvertFamily, FilesAndNames) {
  const fs::path folder = demo_model_folder();
  const TempDir scratch;
  const ConvertResult result = run(folder, scratch / "out");
  EXPECT_EQ(num_entries(scratch.path()), 1u);
  std::set<std::string> expected = {"config.json", "generation_config.json",
                                    "tokenizer_config.json", "tokenizer.json"};
  if (GetParam() == "anemll") {
    expected.insert({"meta.yaml", "llama_embeddings.mlpackage", "llama_lm_head.mlpackage",
                     "llama_FFN_PF_chunk_01of02.mlpackage", "llama_FFN_PF_chunk_02of02.mlpackage"});
  } else {
    expected.insert({"meta.json", "cache-processor.mlpackage", "logit-processor.mlpackage",
                     "model_chunk1.mlpackage", "model_chunk2.mlpackage", "model_chunk3.mlpackage",
                     "model_chunk4.mlpackage"});
  }
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(result.path)) {
    found.insert(entry.path().filename().string());
    if (entry.path().extension() == ".mlpackage") {
      const mil::Model model = mil::read_package(entry.path());
      EXPECT_EQ(model.metadata.user_defined.at("pippin.family"), GetParam());
    }
  }
  EXPECT_EQ(found, expected);
}

TEST_P(ConvertFamily, CancellingLeavesWhatWasThere) {
  const fs::path folder = demo_model_folder();
  const TempDir scratch;
  CancelToken token;
  const CancelScope scope(token);
  const auto cancel = [&](uint64_t, uint64_t) { token.request(); };
  EXPECT_ERROR(run(folder, scratch / "out", cancel), ErrorCode::Cancelled, "cancelled");
  token.reset();
  EXPECT_EQ(num_entries(scratch.path()), 0u);
  run(folder, scratch / "out");
  const size_t files = num_entries(scratch / "out");
  EXPECT_ERROR(run(folder, scratch / "out", cancel), ErrorCode::Cancelled, "cancelled");
  EXPECT_EQ(num_entries(scratch.path()), 1u);
  EXPECT_EQ(num_entries(scratch / "out"), files);
}

TEST_P(ConvertFamily, OnlyFoldersOfPackagesAreReplaced) {
  const fs::path folder = demo_model_folder();
  const TempDir scratch;
  fs::create_directory(scratch / "mine");
  write_file(scratch / "mine" / "notes.txt", "mine");
  EXPECT_ERROR(run(folder, scratch / "mine"), ErrorCode::InvalidArgument,
               "mine: exists and is not a folder of packages, so it is not replaced");
  EXPECT_EQ(num_entries(scratch / "mine"), 1u);
  EXPECT_ERROR(run(folder, scratch / "out.mlpackage"), ErrorCode::InvalidArgument,
               "out.mlpackage: the output is a folder of packages");
  run(folder, scratch / "out");
  write_file(scratch / "out" / "stale.txt", "of the last time");
  run(folder, scratch / "out");
  EXPECT_FALSE(fs::exists(scratch / "out" / "stale.txt"));
}

INSTANTIATE_TEST_SUITE_P(Families, ConvertFamily, testing::Values("anemll", "windowed"),
                         [](const auto& instance) { return instance.param; });

TEST(ConvertFamily, ChunksStayUnderTheLimitOrAreRefused) {
  const fs::path folder = demo_model_folder();
  const TempDir scratch;
  ConvertOptions options;
  options.family = "anemll";
  options.context = 128;
  options.max_chunk_bytes = 2'000'000;
  const ConvertResult result = convert(folder, scratch / "out", options);
  uint64_t largest = 0;
  for (const auto& entry : fs::directory_iterator(result.path)) {
    if (entry.path().filename().string().find("_chunk_") == std::string::npos) continue;
    largest = std::max(largest, folder_bytes(entry.path()));
  }
  EXPECT_LE(largest, 2'000'000u);
  EXPECT_GT(result.packages, 3);
  options.max_chunk_bytes = 200'000;
  EXPECT_ERROR(
      convert(folder, scratch / "small", options), ErrorCode::InvalidArgument,
      "--max-chunk-mb 0.2: a layer alone takes 804.0 KB, so no number of chunks keeps the limit");
  options.chunks = 1000;
  EXPECT_ERROR(convert(folder, scratch / "many", options), ErrorCode::InvalidArgument,
               "1000 chunks: the model has 6 layers");
  EXPECT_EQ(num_entries(scratch.path()), 1u);
}

TEST(ConvertFamily, PalettesStandInNames) {
  const fs::path folder = demo_model_folder();
  const TempDir scratch;
  ConvertOptions options;
  options.family = "anemll";
  options.chunks = 1;
  options.compression.lut_embeddings = "none";
  options.compression.lut_ffn = "4,8";
  options.compression.lut_head = "6";
  options.compression.min_elements = 512;
  const ConvertResult result = convert(folder, scratch / "out", options);
  EXPECT_TRUE(fs::exists(result.path / "llama_embeddings.mlpackage"));
  EXPECT_TRUE(fs::exists(result.path / "llama_FFN_PF_lut4_chunk_01of01.mlpackage"));
  EXPECT_TRUE(fs::exists(result.path / "llama_lm_head_lut6.mlpackage"));
  const std::string meta = read_file(result.path / "meta.yaml");
  for (const char* line : {"lut_embeddings: none", "lut_ffn: 4", "lut_ffn_per_channel: 8",
                           "lut_lmhead: 6", "num_chunks: 1", "split_lm_head: 8"}) {
    EXPECT_NE(meta.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace pippin::app
