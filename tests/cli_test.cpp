// The command line from a user's view: outputs, wrong usage, broken inputs, Ctrl-C.

#include <csignal>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/failed_process.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrompt = "Tell me a story about a fox called Mia.";

// A copy of the small model that a test may damage.
struct ModelCopy {
  explicit ModelCopy(const fs::path& model) : path(folder / "model") {
    fs::create_directory(path);
    for (const auto& entry : fs::directory_iterator(model)) {
      if (entry.is_regular_file()) fs::copy_file(entry.path(), path / entry.path().filename());
    }
  }
  TempDir folder;
  fs::path path;
};

// Ranks of a job share their command line: one of them reports its errors.
TEST(Cli, OneRankReportsErrorsInOptions) {
  const auto run_as = [](const char* rank, std::vector<std::string> arguments,
                         const char* choice = "") {
    ProcessOptions options;
    options.environment = {{"OMPI_COMM_WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_RANK", rank},
                           {"OMPI_FIRST_RANKS", "0"},
                           {"PIPPIN_MPI", choice}};
    return run_pippin(std::move(arguments), options);
  };
  for (const char* rank : {"0", "1"}) {
    const std::string of_rank_0 = rank[0] == '0' ? "pippin: error: " : "";
    const auto wrong = run_as(rank, {"run", "--no-such-option"});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_EQ(wrong.err.substr(0, 15), of_rank_0);
    const auto unknown = run_as(rank, {"run", "Hello"}, "maybe");
    EXPECT_EQ(unknown.status, 1);
    EXPECT_EQ(unknown.err, of_rank_0.empty() ? ""
                                             : "pippin: error: PIPPIN_MPI=maybe: neither on or 1 "
                                               "nor off or 0\n");
    EXPECT_NE(run_as(rank, {"list", "--no-such-option"}).err, "");  // not a command of jobs
    EXPECT_NE(run_as(rank, {"run", "--no-such-option"}, "off").err, "");
  }
}

TEST(Cli, HelpAndVersion) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--help"},
                                             {"run", "--help"},
                                             {"convert", "--help"},
                                             {"inspect", "--help"},
                                             {"repackage", "--help"},
                                             {"compile", "--help"},
                                             {"predict", "--help"},
                                             {"logits", "--help"},
                                             {"verify", "--help"},
                                             {"bench", "--help"},
                                             {"pull", "--help"},
                                             {"push", "--help"},
                                             {"card", "--help"},
                                             {"release", "--help"},
                                             {"list", "--help"},
                                             {"rm", "--help"},
                                             {"template", "--help"},
                                             {"tokenize", "--help"},
                                             {"detokenize", "--help"}}) {
    const auto result = run_pippin(arguments);
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.out.find("Usage: pippin"), std::string::npos) << result.out;
    EXPECT_EQ(result.err, "");
  }
  EXPECT_TRUE(run_pippin({"--version"}).out.starts_with("pippin 0."));
  EXPECT_EQ(run_pippin({}).status, 2);
}

TEST(Cli, WrongUsageIsStatusTwo) {
  expect_failure(run_pippin({"frob"}), 2, "\"frob\" is not a command (see pippin --help)");
  // --help and --version of an unknown command fail.
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"rnu"},
                                             {"rnu", "--help"},
                                             {"--help", "rnu"},
                                             {"rnu", "-h"},
                                             {"rnu", "--version"},
                                             {"rnu", "--temp", "1"},
                                             {"rnu", "run", "--help"}}) {
    expect_failure(run_pippin(more), 2, "\"rnu\" is not a command (did you mean run?)");
  }
  expect_failure(run_pippin({"frob", "--help"}), 2, "\"frob\" is not a command (see");
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"cache", "lsit"}, {"cache", "lsit", "--help"}}) {
    expect_failure(run_pippin(more), 2,
                   "\"lsit\" is not a command (did you mean list?) (see pippin cache --help)");
  }
  expect_failure(run_pippin({"run", "--bogus", "hi"}), 2, "--bogus");
  expect_failure(run_pippin({"run", "-n", "-3", "hi"}), 2, "--max-tokens");
  expect_failure(run_pippin({"run", "-n", "many", "hi"}), 2, "--max-tokens");
  expect_failure(run_pippin({"run", "--temp", "nan", "hi"}), 2, "temperature");
  expect_failure(run_pippin({"run", "--top-p", "2", "hi"}), 2, "top_p is 2");
  expect_failure(run_pippin({"run", "--min-p", "-1", "hi"}), 2, "min_p is -1");
  expect_failure(run_pippin({"run", "--threads", "0", "hi"}), 2, "--threads");
  expect_failure(run_pippin({"run", "--context", "0", "hi"}), 2, "--context");
  expect_failure(run_pippin({"run", "model", "prompt", "more"}), 2, "more");
  expect_failure(run_pippin({"run", "hi", "-f", "file"}), 2, "twice");
  expect_failure(run_pippin({"run", "--fps", "3", "hi"}), 2, "--fps requires --video");
  for (const char* form : {"--json-schema", "--grammar", "--regex", "--choice"}) {
    expect_failure(run_pippin({"run", form, "", "hi"}), 2, std::string(form));
    expect_failure(run_pippin({"constrain", form, "", "hi"}), 2, "is empty");
  }
  expect_failure(run_pippin({"run"}), 2, "no prompt");
}

TEST(Cli, ModelsThatAreNone) {
  const TempDir folder;
  expect_failure(run_pippin({"run", (folder / "none").string(), "hi"}), 1, "no such model");
  expect_failure(run_pippin({"run", folder.path().string(), "hi"}), 1, "neither");
  write_file(folder / "file.mlpackage", "not a folder");
  expect_failure(run_pippin({"run", (folder / "file.mlpackage").string(), "hi"}), 1, "neither");
}

TEST(Cli, BrokenModelsAreRefusedInOneLine) {
  const fs::path model = demo_model_folder();
  const auto expect_broken = [&](const std::string& file, const std::string& content,
                                 const std::string& message, int status = 1) {
    SCOPED_TRACE(file);
    const ModelCopy copy(model);
    write_file(copy.path / file, content);
    expect_failure(run_pippin({"run", copy.path.string(), "hi"}), status, file + message);
  };
  expect_broken("config.json", "{", ": not valid JSON at byte 2");
  expect_broken("config.json", R"({"model_type": "no_such_type"})",
                ": model_type 'no_such_type' is not supported (known: afmoe, ", 3);
  expect_broken("tokenizer.json", "[]", ": not a JSON object");
  expect_broken("generation_config.json", R"({"eos_token_id": "two"})",
                ": eos_token_id: expected an integer, found \"two\"");
  const std::string weights = read_file(model / "model.safetensors");
  expect_broken(
      "model.safetensors", weights.substr(0, weights.size() / 2),
      ": tensor model.layers.2.mlp.gate_proj.weight: data ends at 2754816, the file holds 2752032 "
      "bytes of data");
  expect_broken("model.safetensors", "", ": 0 bytes, no room for a safetensors header");
  const ModelCopy copy(model);
  for (const char* file : {"tokenizer.json", "tokenizer.model"}) fs::remove(copy.path / file);
  expect_failure(run_pippin({"run", copy.path.string(), "hi"}), 1, "tokenizer.json");
}

// Names may contain anything: the message stays one line without control sequences.
TEST(Cli, ErrorsAreALineThatCanBeRead) {
  const auto named = run_pippin({"tokenize", "no\nsuch\x1B[31m\xC2\x9B\xFF file", "x"});
  expect_failure(named, 1, "no such [31m \xEF\xBF\xBD file");
  const TempDir folder;
  write_file(folder / "tokenizer.json",
             R"({"model": {"type": ")" + std::string(1 << 20, 'x') + "\"}}");
  const auto large = run_pippin({"tokenize", folder.path().string(), "x"});
  expect_failure(large, 3, "xxxx");
  EXPECT_LT(large.err.size(), 5000u);
}

TEST(Cli, PromptsThatCannotBe) {
  const fs::path model = demo_model_folder();
  std::string prompt;
  for (int i = 0; i < 600; ++i) prompt += "Once ";
  expect_failure(run_pippin({"run", model.string(), prompt}), 1, "context holds 512");
  expect_failure(run_pippin({"run", model.string(), "--raw", "--context", "3", "Once upon a time"}),
                 1, "the prompt has 4 tokens, the model's context holds 3");
  expect_failure(run_pippin({"run", model.string(), "--file", "/no/such/file"}), 1,
                 "/no/such/file");
  const ModelCopy plain(model);  // without a chat template
  write_file(plain.path / "tokenizer_config.json", "{}");
  expect_failure(run_pippin({"run", plain.path.string(), "--system", "Be kind.", "hi"}), 1,
                 "--system");
}

TEST(Cli, TextOnStdoutStatisticsOnStderr) {
  const fs::path model = demo_model_folder();
  const auto result = run_pippin({"run", model.string(), "-n", "20", "--temp", "0", kPrompt});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out,
            "Once upon a time there was a fox called Mia, who lived in a big jungle. Mia had\n");
  for (const char* line : {"Compile + Load: ", "Prompt        : ", "Generate      : ",
                           " token / sec\n", "First token   : ", "Peak memory   : "}) {
    EXPECT_NE(result.err.find(line), std::string::npos) << result.err;
  }
  EXPECT_EQ(run_pippin({"run", model.string(), "--no-stats", "-n", "3", "Once"}).err, "");
}

TEST(Cli, ThePromptComesFromArgumentFileOrStdin) {
  const fs::path model = demo_model_folder();
  const TempDir folder;
  const std::string prompt = "Lily and Ben are friends.";
  write_file(folder / "prompt.txt", prompt);
  const std::vector<std::string> base = {"run", model.string(), "-n", "8", "--temp", "0"};
  const auto with = [&](std::vector<std::string> more, const std::string& input) {
    more.insert(more.begin(), base.begin(), base.end());
    const auto result = run_pippin(more, {.input = input});
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  };
  const std::string expected = with({prompt}, "");
  EXPECT_GT(expected.size(), 3u);
  EXPECT_EQ(with({"--file", (folder / "prompt.txt").string()}, ""), expected);
  EXPECT_EQ(with({}, prompt), expected);
  EXPECT_EQ(with({"-"}, prompt), expected);
  EXPECT_EQ(with({"--file", "-"}, prompt), expected);
}

TEST(Cli, TheSeedMakesTheText) {
  const fs::path model = demo_model_folder();
  const auto text = [&](const std::string& seed) {
    return run_pippin({"run", model.string(), "--temp", "1", "-n", "40", "--seed", seed, "Once"})
        .out;
  };
  EXPECT_EQ(text("1"), text("1"));
  EXPECT_NE(text("1"), text("2"));
}

TEST(Cli, AFullContextEndsTheTextAndSaysSo) {
  const fs::path model = demo_model_folder();
  const auto result = run_pippin({"run", model.string(), "--raw", "--context", "12", "--temp", "0",
                                  "-n", "100", "Once upon a time"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.err.find("Stop          : context full"), std::string::npos) << result.err;
}

TEST(Cli, CtrlCEndsTheTextCleanly) {
  const fs::path model = demo_model_folder();
  // Scalar kernels and one thread, so that 500 tokens take a while.
  Process process({PIPPIN_PROGRAM, "run", model.string(), "--raw", "-n", "500", "--temp", "2",
                   "--threads", "1", "--seed", "3", "Once upon a time"},
                  {.environment = {{"PIPPIN_CPU", "scalar"}}});
  ASSERT_TRUE(process.wait_for_output(10));
  process.signal(SIGINT);
  const auto result = process.wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_TRUE(result.out.ends_with('\n'));
  EXPECT_NE(result.err.find("Stop          : cancelled"), std::string::npos) << result.err;
}

TEST(Cli, AClosedOutputEndsIt) {
  const fs::path model = demo_model_folder();
  const auto result = run_process(
      {"/bin/sh", "-c", "\"$0\" run \"$1\" -n 50 Once >/dev/full", PIPPIN_PROGRAM, model.string()});
  expect_failure(result, 1, "standard output");
  for (const char* option : {"--help", "--version", "run --help"}) {
    SCOPED_TRACE(option);
    const auto text = run_process(
        {"/bin/sh", "-c", std::string("\"$0\" ") + option + " >/dev/full", PIPPIN_PROGRAM});
    expect_failure(text, 1, "standard output");
  }
}

TEST(Cli, TheDemoModelNeedsNoFiles) {
  const TempDir folder;
  const auto result = run_pippin(
      {"run", "-n", "30", kPrompt},
      {.environment = {{"TMPDIR", folder.path().string()}}, .folder = folder.path().string()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_GT(result.out.size(), 20u);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Cli, APipedTextGoesBeforeTheQuestion) {
  const std::string question = "What is the password?", fact = "The password is zebra.";
  const auto prompt_of = [](const ProcessResult& result) {
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out, "report").get_ints("prompt_ids");
  };
  const auto asked = [&](std::vector<std::string> more, const std::string& input = "") {
    more.insert(more.begin(), {"run", "--json", "-n", "1"});
    return prompt_of(run_pippin(more, {.input = input}));
  };
  const auto alone = asked({question});
  const auto both = asked({fact + "\n\n" + question});
  EXPECT_EQ(asked({question}, fact + "\n"), both);
  EXPECT_EQ(asked({"--file", "-", question}, fact + "\n"), both);
  EXPECT_EQ(asked({"--raw", " a time"}, "Once upon\n"), asked({"--raw", "Once upon\n a time"}));
  const TempDir folder;
  write_file(folder / "question", question);
  EXPECT_EQ(asked({"--file", folder / "question"}, fact + "\n"), both);
  EXPECT_EQ(asked({"-"}, question), alone);

  // Inputs without content, and one that never ends.
  const auto shell = [&](const std::string& script) {
    return run_process({"/bin/sh", "-c", script, PIPPIN_PROGRAM, folder / "pipe", question});
  };
  const std::string command = "\"$0\" run --json -n 1 \"$2\"";
  for (const char* input : {" <&-", " </dev/null"}) {
    EXPECT_EQ(prompt_of(shell(command + input)), alone) << input;
  }
  const auto silent = shell("mkfifo \"$1\"; exec 3<>\"$1\"; " + command + " <&3");
  EXPECT_EQ(prompt_of(silent), alone);
  EXPECT_NE(silent.err.find("standard input was not read"), std::string::npos) << silent.err;
}

// The text is the same whether the beginning of the prompt is computed or read from a file.
TEST(Cli, APromptCacheGoesOnWhereItEnded) {
  const TempDir folder;
  const std::string file = folder / "story.cache";
  const auto run = [&](const std::string& prompt, std::vector<std::string> options) {
    std::vector<std::string> command = {"run", "--raw", "--json", "--temp", "0", "-n", "12"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", prompt});
    const auto result = run_pippin(command);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err.find("damaged") != std::string::npos,
              prompt.find("damaged") != std::string::npos);
    return Json::parse(result.out, "report");
  };
  const std::string first = "Once upon a time there was a fox", second = first + ". Mia saw it";
  const Json alone = run(second, {});
  EXPECT_EQ(alone.at("statistics").get_int("cached_tokens"), 0);
  const Json begun = run(first, {"--prompt-cache", file});
  const auto begun_size = static_cast<int64_t>(begun.get_ints("prompt_ids").size());
  EXPECT_EQ(begun.at("statistics").get_int("cached_tokens"), 0);
  const Json cached = run(second, {"--prompt-cache", file});
  const int64_t from_file = cached.at("statistics").get_int("cached_tokens");
  EXPECT_GE(from_file, begun_size - 1);
  EXPECT_EQ(from_file + cached.at("statistics").get_int("prompt_tokens"),
            static_cast<int64_t>(cached.get_ints("prompt_ids").size()));
  EXPECT_EQ(cached.get_string("text"), alone.get_string("text"));
  const auto lines = run_pippin({"run", "--raw", "-n", "2", "--prompt-cache", file, "--", second});
  EXPECT_NE(lines.err.find("Prompt cache  : "), std::string::npos) << lines.err;
  fs::resize_file(file, fs::file_size(file) - 1);
  write_file(file, read_file(file) + "x");
  EXPECT_EQ(
      run("A damaged file", {"--prompt-cache", file}).at("statistics").get_int("cached_tokens"), 0);
  EXPECT_EQ(run_pippin({"run", "--prompt-cache", file, "--overflow", "shift", "Once"}).status, 2);
}

TEST(Cli, APackageWithoutTokenizerTakesOne) {
  const fs::path model = demo_model_folder();
  const TempDir folder;
  const fs::path package = folder / "a.mlpackage";
  ASSERT_EQ(run_pippin({"convert", model.string(), "-o", package.string()}).status, 0);
  const auto own = run_pippin({"run", package.string(), "-n", "9", "--temp", "0", "One day"});
  EXPECT_EQ(own.status, 0) << own.err;
  fs::remove_all(package / "Data/huggingface");
  expect_failure(run_pippin({"run", package.string(), "hi"}), 1, "--tokenizer");
  const auto given = run_pippin({"run", package.string(), "-n", "9", "--temp", "0", "--tokenizer",
                                 model.string(), "One day"});
  EXPECT_EQ(given.status, 0) << given.err;
  EXPECT_EQ(given.out, own.out);
  fs::remove_all(package / "Data/com.apple.CoreML/weights");
  expect_failure(run_pippin({"run", package.string(), "--tokenizer", model.string(), "hi"}), 1,
                 "@model_path/weights/weight.bin: the package comes without this weight file");
}

}  // namespace
}  // namespace pippin
