// pippin bench on every kind of model, and its errors.

#include <algorithm>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
  "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "vocab_size": 50, "max_position_embeddings": 128,
  "rms_norm_eps": 1e-5, "tie_word_embeddings": false})";

struct Bench : testing::Test {
  Bench() {
    fs::create_directory(folder / "tmp");
    write_file(folder / "config.json", kConfig);
  }
  ProcessResult run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "bench");
    return run_pippin(arguments, {.environment = {{"TMPDIR", (folder / "tmp").string()}},
                                  .folder = folder.path().string()});
  }
  TempDir folder;
};

TEST_F(Bench, RandomWeightsOfEveryFamily) {
  for (const std::vector<std::string>& family :
       std::vector<std::vector<std::string>>{{"stateful", "--quantize", "int4"},
                                             {"anemll", "--batch", "8", "--chunks", "2"},
                                             {"windowed", "--window", "8", "--cache", "56"}}) {
    SCOPED_TRACE(family[0]);
    std::vector<std::string> arguments = {"--random-weights",
                                          "config.json",
                                          "--json",
                                          "-p",
                                          "8,20",
                                          "-n",
                                          "3",
                                          "-d",
                                          "0,16",
                                          "-r",
                                          "2",
                                          "-t",
                                          "1",
                                          "--context",
                                          "64",
                                          "--family"};
    arguments.insert(arguments.end(), family.begin(), family.end());
    const auto result = run(arguments);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(fs::is_empty(folder / "tmp"));
    const Json report = Json::parse(result.out, "report");
    EXPECT_EQ(report.get_int("threads"), 1);
    EXPECT_EQ(report.get_int("context"), 64);
    EXPECT_GT(report.get_int("weight_bytes_per_token"), 1000);
    EXPECT_GT(report.get_int("peak_memory_bytes"), 1'000'000);
    for (const char* load : {"first_load", "second_load"}) {
      EXPECT_GT(report.at(load).get_float("load_seconds"), 0);
      EXPECT_GT(report.at(load).get_float("first_token_seconds"),
                report.at(load).get_float("load_seconds"));
    }
    EXPECT_EQ(report.at("readings").size(), 9U);
    std::vector<std::string> tests;
    for (const Json& one : report.at("results").elements()) {
      tests.push_back(one.get_string("test"));
      EXPECT_EQ(one.at("samples").size(), 2U);
      EXPECT_GT(one.get_float("tokens_over_elapsed"), 0);
      const bool decode = one.get_int("n_gen") > 0;
      EXPECT_EQ(one.contains("share_of_bandwidth"), decode);
      EXPECT_GT(one.get_float(decode ? "share_of_bandwidth" : "operations_per_token"), 0);
    }
    EXPECT_EQ(tests, (std::vector<std::string>{"pp8", "pp20", "tg3", "tg3 @ d16"}));
  }
}

TEST_F(Bench, TheDemoModelAndAFolder) {
  const auto demo = run({"-r", "1", "-p", "4", "-n", "2"});
  EXPECT_EQ(demo.status, 0) << demo.err;
  for (const char* part : {"First load    : ", "Peak memory   : ", "| pp4 | ", "| tg2 | ",
                           "|Variant|1st Load Time|2nd+ Load Time|Tokens/Sec|Power|\n"}) {
    EXPECT_NE(demo.out.find(part), std::string::npos) << demo.out;
  }
  EXPECT_TRUE(fs::is_empty(folder / "tmp"));
  const fs::path model = demo_model_folder();
  // Defaults are reduced to fit the context.
  const auto fitted = run({model.string(), "-r", "1", "--context", "32", "--json"});
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  const auto results = Json::parse(fitted.out, "report").at("results").elements();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].get_string("test"), "pp32");
  EXPECT_EQ(results[1].get_string("test"), "tg32");
}

TEST_F(Bench, SequencesTogether) {
  const std::vector<std::string> common = {
      "--random-weights", "config.json", "-p", "0", "-n", "3", "-d", "0,16", "-r", "2", "-t", "2",
      "--parallel",       "1,2,5"};
  for (const std::vector<std::string>& family :
       std::vector<std::vector<std::string>>{{"stateful", "--quantize", "int4"},
                                             {"anemll", "--batch", "8", "--chunks", "2"},
                                             {"windowed", "--window", "8", "--cache", "56"}}) {
    SCOPED_TRACE(family[0]);
    auto arguments = common;
    arguments.insert(arguments.end(), {"--json", "--context", "64", "--family"});
    arguments.insert(arguments.end(), family.begin(), family.end());
    const auto result = run(arguments);
    ASSERT_EQ(result.status, 0) << result.err;
    const Json report = Json::parse(result.out, "report");
    std::vector<std::string> tests;
    double bytes_alone = 0;
    for (const Json& one : report.at("results").elements()) {
      tests.push_back(one.get_string("test"));
      const auto sequences = static_cast<double>(one.get_int("n_parallel"));
      EXPECT_EQ(one.get_int("n_gen"), 3);
      const double total = one.at("tokens_per_second").get_float("mean");
      EXPECT_GT(total, 0);
      EXPECT_NEAR(one.at("tokens_per_second_per_sequence").get_float("mean") * sequences, total,
                  total * 1e-6);
      for (const Json& sample : one.at("samples").elements()) {
        EXPECT_EQ(sample.at("token_seconds").size(), 3U);
      }
      if (sequences == 1) bytes_alone = one.get_float("bytes_per_token");
      if (sequences > 1) {
        EXPECT_LT(one.get_float("bytes_per_token"), bytes_alone);
      }
    }
    EXPECT_EQ(tests, (std::vector<std::string>{"tg3", "tg3 x2", "tg3 x5", "tg3 @ d16",
                                               "tg3 x2 @ d16", "tg3 x5 @ d16"}));
  }
  const auto text = run(common);
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("| tg3 x5 @ d16 | "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("xN: N sequences together"), std::string::npos) << text.out;
}

TEST_F(Bench, ProfileIsATraceAndATable) {
  const auto result = run({"--random-weights", "config.json", "-p", "12", "-n", "20", "-r", "1",
                           "-t", "2", "--parallel", "1,3", "--quantize", "int4", "--context", "64",
                           "--profile", "trace.json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("linear int4"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("GB/s"), std::string::npos) << result.err;
  const Json trace = Json::load(folder / "trace.json");
  // Begin and end, in microseconds of the trace's one clock.
  using Span = std::pair<double, double>;
  const auto holds = [](const Span& outer, const Span& inner) {
    constexpr double kRounding = 0.01;
    return outer.first <= inner.first + kRounding && inner.second <= outer.second + kRounding;
  };
  std::map<std::string, Span> tests;
  std::vector<Span> runs;
  std::map<int64_t, std::vector<Span>> steps;  // by thread
  for (const Json& event : trace.at("traceEvents").elements()) {
    EXPECT_EQ(event.get_string("ph"), "X");
    const double begin = event.get_float("ts");
    const Span span = {begin, begin + event.get_float("dur")};
    const std::string name = event.get_string("name");
    if (event.get_string("cat") == "step") {
      steps[event.get_int("tid")].push_back(span);
      EXPECT_FALSE(event.at("args").get_string("shapes").empty());
    } else if (name == "main") {
      runs.push_back(span);
    } else {
      tests[name] = span;
    }
  }
  ASSERT_EQ(tests.size(), 3U);
  for (const char* name : {"pp12", "tg20", "tg20 x3"}) EXPECT_TRUE(tests.contains(name)) << name;
  // Each run is within one test, and each step within one run; a thread does one step at a time.
  // The share of its steps in a run is not tested, because it depends on other load of the machine.
  for (const Span& run : runs) {
    EXPECT_EQ(std::count_if(tests.begin(), tests.end(),
                            [&](const auto& test) { return holds(test.second, run); }),
              1);
    EXPECT_TRUE(std::any_of(steps[0].begin(), steps[0].end(),
                            [&](const Span& step) { return holds(run, step); }));
  }
  for (auto& [thread, spans] : steps) {
    std::sort(spans.begin(), spans.end());
    for (size_t i = 0; i < spans.size(); ++i) {
      const Span& step = spans[i];
      EXPECT_EQ(std::count_if(runs.begin(), runs.end(),
                              [&](const Span& run) { return holds(run, step); }),
                1);
      if (i > 0) {
        EXPECT_LE(spans[i - 1].second, step.first + 0.01) << "thread " << thread;
      }
    }
  }
}

TEST_F(Bench, PackagesThatAreNoLanguageModels) {
  const std::string package = source_dir().string() + "/tests/install/add_half.mlmodelc";
  const auto result = run({package, "--json", "-r", "3", "-t", "1", "--profile", "trace.json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json report = Json::parse(result.out, "report");
  EXPECT_EQ(report.get_string("function"), "main");
  EXPECT_EQ(report.get_string("precision"), "exact");
  EXPECT_EQ(report.get_int("threads"), 1);
  EXPECT_EQ(report.at("seconds").size(), 3u);
  EXPECT_GT(report.get_float("min_seconds"), 0);
  EXPECT_GE(report.get_float("median_seconds"), report.get_float("min_seconds"));
  EXPECT_EQ(report.get_float("operations"), 3);  // [1, 3] + 0.5
  EXPECT_GT(report.get_float("bytes"), 0);
  EXPECT_GT(report.get_float("bandwidth"), 0);
  EXPECT_GT(report.get_int("peak_memory_bytes"), 1'000'000);
  for (const char* load : {"first_load", "cached_load"}) {
    EXPECT_GT(report.at(load).get_float("load_seconds"), 0);
    EXPECT_GE(report.at(load).get_float("first_prediction_seconds"),
              report.at(load).get_float("load_seconds"));
  }
  EXPECT_NE(result.err.find("add"), std::string::npos) << result.err;
  EXPECT_GT(Json::load(folder / "trace.json").at("traceEvents").size(), 0u);

  const auto lines = run({package, "-r", "2", "--function", "main", "--precision", "reference"});
  ASSERT_EQ(lines.status, 0) << lines.err;
  for (const char* part : {"function main, reference", "First load", "Cached load", "min of 2",
                           "Arithmetic", "Memory", "Peak memory"}) {
    EXPECT_NE(lines.out.find(part), std::string::npos) << lines.out;
  }
  const auto refused = run({package, "-p", "5"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("--n-prompt"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("measured by predictions"), std::string::npos) << refused.err;
  const auto absent = run({package, "--function", "other"});
  EXPECT_EQ(absent.status, 1);
  EXPECT_NE(absent.err.find("other"), std::string::npos) << absent.err;
}

// A model whose input has the shape of hidden states, for example an audio model.
TEST_F(Bench, HiddenStatesAloneMakeNoLanguageModel) {
  PIPPIN_SHARED_OR_SKIP(package, "packages/basic-pitch-nmp.mlpackage");
  const auto result = run({package.string(), "--json", "-r", "1"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_GT(Json::parse(result.out, "report").get_float("operations"), 1e6);
}

TEST_F(Bench, SaysWhatItCannotDo) {
  const auto expect = [&](const std::vector<std::string>& arguments, int status,
                          const std::string& part) {
    const auto result = run(arguments);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_TRUE(fs::is_empty(folder / "tmp"));
  };
  expect({"absent"}, 1, "absent");
  expect({"config.json"}, 1, "config.json");
  expect({"--random-weights", "absent.json"}, 1, "config.json");
  expect({"--quantize", "int4"}, 1, "--random-weights");
  expect({"-p", "-1"}, 2, "--n-prompt");
  expect({"-r", "0"}, 2, "--repetitions");
  for (const char* threads : {"99999999", "100000", "0", "-1", "x", ""}) {
    expect({"-t", threads}, 2, "--threads");
  }
  expect({"--parallel", "0"}, 2, "--parallel");
  expect({"--parallel", "4,x"}, 2, "--parallel");
  expect({"--precision", "sharp"}, 2, "--precision");
  expect({"--profile", "absent/trace.json", "-r", "1"}, 1, "absent");
  expect({"-p", "0", "-n", "0"}, 1, "nothing to measure");
  expect({"--function", "main"}, 1, "--function");
  expect({"--random-weights", "config.json", "-p", "129", "-r", "1"}, 1,
         "pp129 needs 129 tokens of context, the model has 128");
  expect({"--random-weights", "config.json", "-n", "10", "-d", "120", "-r", "1"}, 1,
         "tg10 @ d120 needs 130");
}

}  // namespace
}  // namespace pippin
