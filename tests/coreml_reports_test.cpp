// Packages from bug reports, which earlier versions of Pippin computed wrongly.
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using Rules = std::set<std::string>;

// Findings above notes, as "error pad-axes".
Rules rules_of(const std::string& package, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"doctor", package, "--json"});
  const auto result = run_pippin(options);
  Rules rules;
  const Json json = Json::parse(result.out, "report");
  for (const Json& part : json.at("parts").elements()) {
    for (const Json& finding : part.at("findings").elements()) {
      rules.insert(finding.get_string("severity") + " " + finding.get_string("rule"));
    }
  }
  return rules;
}

std::vector<int64_t> ids_of(const fs::path& package) {
  const auto result = run_pippin({"run", package.string(), "--tokenizer",
                                  (package.parent_path() / "tokenizer").string(), "--raw", "--temp",
                                  "0", "-n", "20", "--json", "Once upon a time"});
  EXPECT_EQ(result.status, 0) << result.err;
  std::vector<int64_t> ids;
  const Json json = Json::parse(result.out, "answer");
  for (const Json& id : json.at("ids").elements()) ids.push_back(id.as_int());
  return ids;
}

TEST(CoreMlReports, Runs) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  const std::vector<int64_t> plain = {379, 47,  377, 375, 338, 398, 104, 266, 440, 379,
                                      401, 323, 258, 244, 160, 129, 244, 323, 11,  268};
  for (const char* name : {"run-output-mask", "run-logits-layout", "run-last-logits-drafts"}) {
    EXPECT_EQ(ids_of(reports / name / "model.mlpackage"), plain) << name;
  }
  EXPECT_EQ(ids_of(reports / "run-coreml-llm-argmax/model.mlpackage"),
            (std::vector<int64_t>{453, 333, 7,   458, 434, 511, 76,  285, 236, 272,
                                  76,  333, 354, 502, 511, 207, 502, 245, 215, 502}));
  const fs::path stateful = reports / "run-last-logits-drafts";
  const auto text = run_pippin({"run", (stateful / "stateful.mlmodelc").string(), "--tokenizer",
                                (stateful / "tokenizer").string(), "--raw", "--temp", "0", "-n",
                                "30", "Once upon a time"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(text.out.find(", there was a little girl named Lily. She loved to play outside"), 0u)
      << text.out;
}

TEST(CoreMlReports, DoctorSaysWhatItDidNot) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  const auto package = [&](const std::string& name) {
    return (reports / ("doctor-" + name) / "model.mlpackage").string();
  };
  EXPECT_TRUE(rules_of(package("range-from-zero")).contains("warning range-from-zero"));
  for (const char* target : {"ios18", "macos26"}) {
    const Rules rules = rules_of(package("palette-channel-scale"), {"--target", target});
    EXPECT_TRUE(rules.contains("warning palette-scale")) << target;
  }
  const Rules pad = rules_of(package("pad-reflect-3-axes"));
  EXPECT_TRUE(pad.contains("error pad-axes"));
  EXPECT_FALSE(pad.contains("warning unsupported-operation"));
  EXPECT_TRUE(rules_of(package("epsilon-zero")).contains("note epsilon-zero"));
  EXPECT_FALSE(rules_of(package("image-scale-fp32")).contains("warning fp32-compute"));
  const std::string arrays = (reports / "doctor-overflow-conv/cal.npz").string();
  EXPECT_TRUE(rules_of(package("overflow-conv"), {"--calibrate", arrays})
                  .contains("warning fp16-overflow"));
}

TEST(CoreMlReports, PipelinesAreDescribed) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  const TempDir scratch;
  const std::string package = (reports / "fix-pipeline/model.mlpackage").string();
  const std::string mended = (scratch / "x.mlpackage").string();
  EXPECT_TRUE(rules_of(package).contains("note missing-metadata"));
  const auto fixed = run_pippin({"repackage", package, "-o", mended, "--fix", "missing-metadata"});
  EXPECT_EQ(fixed.status, 0) << fixed.err;
  EXPECT_NE(fixed.out.find("missing-metadata: description"), std::string::npos) << fixed.out;
  EXPECT_FALSE(rules_of(mended).contains("note missing-metadata"));
}

TEST(CoreMlReports, SmallEpsilonsAreConverted) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  const TempDir scratch;
  const fs::path folder = reports / "convert-epsilon-zero";
  const std::string package = (scratch / "p.mlpackage").string();
  ASSERT_EQ(run_pippin({"convert", (folder / "model").string(), "-o", package}).status, 0);
  const std::string program = run_pippin({"inspect", "--mil", package}).out;
  EXPECT_NE(program.find("layer_norm("), std::string::npos);
  for (size_t at = program.find("epsilon"); at != std::string::npos;
       at = program.find("epsilon", at + 1)) {
    const std::string line = program.substr(at, program.find('\n', at) - at);
    EXPECT_EQ(line.find("0x0p"), std::string::npos) << line;
  }
  const std::string output = (scratch / "out.npz").string();
  const auto result =
      run_pippin({"predict", package, "--input", (folder / "in.npz").string(), "-o", output});
  ASSERT_EQ(result.status, 0) << result.err;
  for (const float value : NpzFile::open(output).read("sentence_embedding").to_floats()) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(CoreMlReports, FilesInPlaceOfOthersAreNamed) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  for (const char* name : {"weights.mlpackage", "model.mlpackage", "bare.mlmodel"}) {
    for (const char* command : {"inspect", "doctor", "predict"}) {
      const auto result = run_pippin({command, (reports / "lfs-pointer" / name).string()});
      EXPECT_EQ(result.status, 1) << command << " " << name;
      EXPECT_NE(result.err.find("a Git LFS pointer"), std::string::npos) << result.err;
      EXPECT_NE(result.err.find("git lfs pull"), std::string::npos) << result.err;
    }
  }
}

TEST(CoreMlReports, EveryFormIsOpened) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  const TempDir scratch;
  const std::string zipped = (reports / "zipped-package/m.mlpackage.zip").string();
  const std::string text = (reports / "model-mil-alone/model.mil").string();
  const std::string nested = (reports / "compiled-nms/model.mlmodelc").string();
  for (const std::string& model : {zipped, text, nested}) {
    for (const auto& command : std::vector<std::vector<std::string>>{
             {"inspect", model},
             {"predict", model, "--random-inputs", "1"},
             {"compile", model, "-o", (scratch / "x.mlmodelc").string()},
             {"repackage", model, "-o", (scratch / "x.mlpackage").string()}}) {
      const auto result = run_pippin(command);
      EXPECT_EQ(result.status, 0) << command[0] << " " << model << "\n" << result.err;
    }
    const auto report = run_pippin({"doctor", model});
    EXPECT_NE(report.status, 1) << report.err;
    EXPECT_NE(report.status, 3) << report.err;
  }
  EXPECT_NE(run_pippin({"inspect", zipped}).out.find("ML Program"), std::string::npos);
}

// The outputs of one run, by name.
std::map<std::string, std::vector<double>> predicted(std::vector<std::string> arguments) {
  const TempDir scratch;
  const std::string output = (scratch / "out.npz").string();
  arguments.insert(arguments.begin(), "predict");
  arguments.insert(arguments.end(), {"-o", output});
  const auto result = run_pippin(arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  std::map<std::string, std::vector<double>> outputs;
  const NpzFile file = NpzFile::open(output);
  for (const std::string& name : file.names()) outputs[name] = file.read(name).to_doubles();
  return outputs;
}

TEST(CoreMlReports, ProgramsWithoutAPackageRun) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  const TempDir scratch;
  const std::string input = (scratch / "in.npz").string();
  std::vector<float> a(64), b(64);
  std::vector<double> sum(64);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i);
    b[i] = 100;
    sum[i] = static_cast<double>(i) + 100;
  }
  const auto array = [](const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return NpyArray{NpyType::F32, {1, 64, 1, 1}, {bytes.begin(), bytes.end()}};
  };
  write_npz(input, {{"a", array(a)}, {"b", array(b)}});
  const std::string text = (reports / "model-mil-alone/model.mil").string();
  EXPECT_EQ(predicted({text, "--input", input}).at("c"), sum);
}

// The package next to the compiled model is its source.
TEST(CoreMlReports, CompiledDetectorsGiveTheBoxesOfTheirPackage) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  const auto outputs = [&](const std::string& model) {
    return predicted({(reports / model).string(), "--random-inputs", "1"});
  };
  const auto compiled = outputs("compiled-nms/model.mlmodelc");
  EXPECT_EQ(compiled.at("confidence").size(), 8u);
  EXPECT_EQ(compiled, outputs("fix-pipeline/model.mlpackage"));
}

TEST(CoreMlReports, CastsAgree) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  const TempDir scratch;
  const fs::path folder = reports / "cast-out-of-range";
  // Of 300, -5, 70000, -70000, 3e9, -3e9, NaN, infinity, 127.9, -128.9, 255.5 and 1e20; the largest
  // int32 is 2^31 as fp32, which the outputs are.
  const std::map<std::string, std::vector<double>> wanted = {
      {"int8", {127, -5, 127, -128, 127, -128, 0, 127, 127, -128, 127, 127}},
      {"int32", {300, -5, 70000, -70000, 0x1p31, -0x1p31, 0, 0x1p31, 127, -128, 255, 0x1p31}}};
  for (const char* name : {"int8", "int32"}) {
    std::vector<std::vector<double>> outputs;
    for (const char* precision : {"exact", "reference", "fast"}) {
      const std::string output = (scratch / "out.npz").string();
      const auto result =
          run_pippin({"predict", (folder / (std::string(name) + ".mlpackage")).string(), "--input",
                      (folder / "in.npz").string(), "--precision", precision, "-o", output});
      ASSERT_EQ(result.status, 0) << result.err;
      outputs.push_back(NpzFile::open(output).read("y").to_doubles());
    }
    EXPECT_EQ(outputs[0], wanted.at(name)) << name;
    EXPECT_EQ(outputs[0], outputs[1]) << name;
    EXPECT_EQ(outputs[0], outputs[2]) << name;
  }
}

TEST(CoreMlReports, PicturesAreWrittenAsNamed) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  const TempDir scratch;
  const fs::path folder = reports / "predict-output-names";
  const auto written = [&](const std::string& ending) {
    const fs::path output = scratch / ("y." + ending);
    const auto result = run_pippin({"predict", (folder / "picture.mlpackage").string(), "--input",
                                    "x=" + (folder / "x.png").string(), "-o", output.string()});
    EXPECT_EQ(result.status, 0) << result.err;
    return read_file(output);
  };
  EXPECT_EQ(written("png").substr(0, 4), "\x89PNG");
  EXPECT_EQ(written("jpg").substr(0, 2), "\xff\xd8");
  EXPECT_EQ(written("npy").substr(0, 6), "\x93NUMPY");
  EXPECT_EQ(written("npz").substr(0, 2), "PK");
  EXPECT_EQ(Json::parse(written("json"), "json").at("outputs").size(), 1u);
  EXPECT_EQ(run_pippin({"predict", (folder / "array.mlpackage").string(), "--random-inputs", "1",
                        "-o", (scratch / "y.txt").string()})
                .status,
            2);
}

// A network with a picture as its input and its output.
TEST(CoreMlReports, OldNetworksReturnPictures) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  const fs::path folder = reports / "old-nn-image2image";
  const std::vector<double> found = predicted({(folder / "model.mlmodel").string(), "--input",
                                               "image=" + (folder / "image.png").string()})
                                        .at("generatedImage");
  const Json rows = Json::parse(read_file(folder / "expected.json"), "expected");
  const Json wanted = rows.at(size_t{0}).at("outputs").at("generatedImage");
  ASSERT_EQ(static_cast<double>(found.size()), wanted.get_float("count"));
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0.0), wanted.get_float("sum"));
  const std::vector<double> first = wanted.at("first 64 (channel, row, column)").as_floats();
  EXPECT_TRUE(std::equal(first.begin(), first.end(), found.begin()));
}

}  // namespace
}  // namespace pippin
