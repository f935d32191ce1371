// Packages, compiled models and bare model files on the command line.

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/io/zip_testing.h"
#include "tests/failed_process.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::vector<std::string>& arguments) {
  const auto result = run_pippin(arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

TEST(Containers, CompiledModelsAreInspectedAsPackagesAre) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  const TempDir scratch;
  const std::string compiled = (packages / "silero_vad.mlmodelc").string();
  const std::string package = (scratch / "silero_vad.mlpackage").string();
  const std::string said = output_of({"repackage", compiled, "-o", package});
  EXPECT_EQ(said.find(package + "\n"), 0u) << said;
  const auto after_name = [](const std::string& text) { return text.substr(text.find(':')); };
  const std::string summary = output_of({"inspect", compiled});
  EXPECT_EQ(after_name(summary), after_name(output_of({"inspect", package})));
  EXPECT_EQ(summary.find("silero_vad.mlmodelc: ML Program, specification version 6, "), 0u);
  EXPECT_NE(summary.find("    audio_input   fp32  [1, 576]\n"), std::string::npos) << summary;
  // Literal numbers, not file offsets: the text is the same for both.
  const std::string values = output_of({"inspect", "--mil", "--values", compiled});
  EXPECT_EQ(values, output_of({"inspect", "--mil", "--values", package}));
  EXPECT_EQ(values.find("BLOBFILE"), std::string::npos);
  std::string text = read_file(packages / "silero_vad.mlmodelc/model.mil");
  if (text.back() != '\n') text += '\n';
  EXPECT_EQ(output_of({"inspect", "--mil", compiled}), text);
  const Json json = Json::parse(output_of({"inspect", "--json", compiled}), "json");
  EXPECT_EQ(json.get_string("kind"), "ML Program");
  EXPECT_EQ(json.get_int("specification_version"), 6);
}

TEST(Containers, CompilingKeepsWhatAModelIs) {
  PIPPIN_SHARED_OR_SKIP(coremltools, "coremltools");
  const TempDir scratch;
  const std::string package = (coremltools / "llama_stateful.mlpackage").string();
  const std::string compiled = (scratch / "m.mlmodelc").string();
  EXPECT_EQ(output_of({"compile", package, "-o", compiled}).find(compiled + "\n"), 0u);
  const auto after_name = [](const std::string& text) { return text.substr(text.find(':')); };
  EXPECT_EQ(after_name(output_of({"inspect", compiled})),
            after_name(output_of({"inspect", package})));
  EXPECT_EQ(output_of({"inspect", "--mil", compiled}), output_of({"inspect", "--mil", package}));
  const auto predicted = [](const std::string& model) {
    const Json json =
        Json::parse(output_of({"predict", "--random-inputs", "1", "--json", model}), "json");
    return json.at("outputs").dump();
  };
  EXPECT_EQ(predicted(compiled), predicted(package));
  const Json json = Json::parse(output_of({"compile", compiled, "-o", compiled, "--json"}), "json");
  EXPECT_EQ(json.get_string("path"), compiled);
  EXPECT_GT(json.get_int("bytes"), 0);
  EXPECT_EQ(run_pippin({"compile", package}).status, 2);
  const auto refused = run_pippin({"compile", package, "-o", (scratch / "m").string()});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("the output has to end in .mlmodelc"), std::string::npos);
}

TEST(Containers, RepackagingAgainChangesNothing) {
  PIPPIN_SHARED_OR_SKIP(coremltools, "coremltools");
  const TempDir scratch;
  const fs::path first = scratch / "a.mlpackage", second = scratch / "b.mlpackage";
  const std::string source = (coremltools / "llama_multifunction.mlpackage").string();
  const Json json =
      Json::parse(output_of({"repackage", "--json", source, "-o", first.string()}), "json");
  EXPECT_EQ(json.get_string("path"), first.string());
  output_of({"repackage", first.string(), "-o", second.string()});
  for (const char* file : {"Manifest.json", "Data/com.apple.CoreML/model.mlmodel",
                           "Data/com.apple.CoreML/weights/weight.bin"}) {
    EXPECT_TRUE(read_file(first / file) == read_file(second / file)) << file;
  }
  const auto usage = run_pippin({"repackage", source});
  EXPECT_EQ(usage.status, 2);
}

// Every command gives status 3 and one line.
TEST(Containers, UnknownKindsOfModelsAreNamed) {
  const TempDir scratch;
  const std::string file = (scratch / "words.mlmodel").string();
  write_file(file, std::string("\x08\x01\xfa\x7c\x00", 5));
  const fs::path package = scratch / "m.mlpackage";
  fs::create_directories(package / "Data/com.apple.CoreML");
  fs::copy(file, package / "Data/com.apple.CoreML/model.mlmodel");
  write_file(package / "Manifest.json",
             R"({"fileFormatVersion": "1.0.0", "rootModelIdentifier": "A", "itemInfoEntries":
                 {"A": {"path": "com.apple.CoreML/model.mlmodel"}}})");
  for (const std::string& model : {file, package.string()}) {
    const std::string out = (scratch / "out.mlpackage").string();
    const std::string compiled = (scratch / "out.mlmodelc").string();
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"inspect", model},
                                               {"inspect", "--mil", model},
                                               {"repackage", model, "-o", out},
                                               {"compile", model, "-o", compiled},
                                               {"run", model, "hi"}}) {
      SCOPED_TRACE(arguments[0] + " " + model);
      expect_failure(run_pippin(arguments), 3,
                     "models of kind 1999 are not supported (specification version 1)");
    }
    EXPECT_FALSE(fs::exists(out) || fs::exists(compiled));
  }
}

// Kinds that only Apple's frameworks compute are shown and repackaged, but predict nothing.
TEST(Containers, ClosedKindsPredictNothing) {
  const TempDir scratch;
  const std::string file = (scratch / "words.mlmodel").string();
  const std::string out = (scratch / "out.mlpackage").string();
  write_file(file, std::string("\x08\x01\x8a\x7d\x00", 5));
  EXPECT_NE(output_of({"inspect", file}).find("word tagger"), std::string::npos);
  output_of({"repackage", file, "-o", out});
  for (const std::string& model : {file, out}) {
    expect_failure(run_pippin({"predict", model, "--random-inputs", "1"}), 3, "wordTagger");
  }
}

// y = x + 1, as fp16 of four elements.
constexpr const char* kProgram =
    "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [4]> x) {\n"
    "            tensor<fp16, [4]> y = add(x = x, y = fp16(1));\n        } -> (y);\n}\n";

// The output, in this form, of every command that opens a package.
std::vector<std::string> said_of(const std::string& path, const TempDir& scratch) {
  const auto without_name = [](const std::string& text) { return text.substr(text.find(':')); };
  const std::string compiled = (scratch / "out.mlmodelc").string();
  const std::string package = (scratch / "out.mlpackage").string();
  std::vector<std::string> said = {
      without_name(output_of({"inspect", path})), without_name(output_of({"doctor", path})),
      output_of({"predict", path, "--random-inputs", "1"}), output_of({"inspect", "--mil", path})};
  output_of({"compile", path, "-o", compiled});
  said.push_back(output_of({"predict", compiled, "--random-inputs", "1"}));
  output_of({"repackage", path, "-o", package});
  said.push_back(output_of({"predict", package, "--random-inputs", "1"}));
  output_of({"bench", path, "-r", "5", "--json"});
  return said;
}

TEST(Containers, EveryCommandReadsTextsAndArchives) {
  const TempDir scratch;
  const std::string text = (scratch / "model.mil").string();
  write_file(text, kProgram);
  const std::vector<std::string> wanted = said_of(text, scratch);
  output_of({"repackage", text, "-o", (scratch / "m.mlpackage").string()});
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& entry : fs::recursive_directory_iterator(scratch / "m.mlpackage")) {
    if (!entry.is_regular_file()) continue;
    files.emplace_back(entry.path().lexically_relative(scratch.path()).string(),
                       read_file(entry.path()));
  }
  write_file(scratch / "m.zip", stored_zip(files));
  EXPECT_EQ(said_of((scratch / "m.zip").string(), scratch), wanted);
  write_file(scratch / "m.mlmodel.gz",
             stored_gzip(read_file(scratch / "m.mlpackage/Data/com.apple.CoreML/model.mlmodel")));
  EXPECT_EQ(said_of((scratch / "m.mlmodel.gz").string(), scratch), wanted);
  // Unpacked files are removed.
  fs::create_directory(scratch / "tmp");
  const auto result = run_pippin({"inspect", (scratch / "m.zip").string()},
                                 {.environment = {{"TMPDIR", (scratch / "tmp").string()}}});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(fs::is_empty(scratch / "tmp"));
}

TEST(Containers, FilesOfAnotherPlaceAreNamed) {
  const TempDir scratch;
  write_file(scratch / "m.mlmodel", "version https://git-lfs.github.com/spec/v1\nsize 5\n");
  write_file(scratch / "p.mlpackage.zip", "<!DOCTYPE html><html></html>");
  for (const char* command : {"inspect", "predict", "doctor", "bench"}) {
    auto result = run_pippin({command, (scratch / "m.mlmodel").string()});
    EXPECT_EQ(result.status, 1) << command;
    EXPECT_NE(result.err.find("m.mlmodel: a Git LFS pointer"), std::string::npos) << result.err;
    result = run_pippin({command, (scratch / "p.mlpackage.zip").string()});
    EXPECT_EQ(result.status, 1) << command;
    EXPECT_NE(result.err.find("p.mlpackage.zip: an HTML page"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace pippin
