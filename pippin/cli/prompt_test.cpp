#include "pippin/cli/prompt.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::cli {
namespace {

TEST(RunArguments, TwoAreModelAndPrompt) {
  const auto arguments = split_run_arguments("any", "Once upon a time");
  EXPECT_EQ(arguments.model, "any");
  EXPECT_EQ(arguments.prompt, "Once upon a time");
}

TEST(RunArguments, OneIsAModelWhereItCanBe) {
  const TempDir folder;
  for (const std::string& model :
       {folder.path().string(), std::string("Qwen.mlpackage"), std::string("./model"),
        std::string("../model"), std::string("/models/llama")}) {
    const auto arguments = split_run_arguments(model, {});
    EXPECT_EQ(arguments.model, model);
    EXPECT_FALSE(arguments.prompt.has_value());
  }
}

TEST(RunArguments, OneIsThePromptOtherwise) {
  for (const std::string prompt : {"Once upon a time", "Hello", "-", "", "and/or", "/ says the cat",
                                   "why .mlpackage files?"}) {
    const auto arguments = split_run_arguments(prompt, {});
    EXPECT_EQ(arguments.model, "");
    EXPECT_EQ(arguments.prompt, prompt);
  }
  EXPECT_EQ(split_run_arguments(std::string(100000, 'x'), {}).model, "");
}

TEST(RunArguments, OneLikeARepositoryIsAModelWhereThePromptIsElsewhere) {
  EXPECT_EQ(split_run_arguments("org/name", {}, true).model, "org/name");
  EXPECT_EQ(split_run_arguments("org/name@v1", {}, true).model, "org/name@v1");
  EXPECT_EQ(split_run_arguments("org/name", {}, false).prompt, "org/name");
  EXPECT_EQ(split_run_arguments("Hello", {}, true).prompt, "Hello");
  EXPECT_EQ(split_run_arguments("and / or", {}, true).prompt, "and / or");
}

TEST(PipedText, GoesBeforeTheQuestion) {
  EXPECT_EQ(join_piped("one\ntwo\r\n\n", "Why?", false), "one\ntwo\n\nWhy?");
  EXPECT_EQ(join_piped("  one ", "Why?", false), "  one \n\nWhy?");
  EXPECT_EQ(join_piped(" \n\t\n", "Why?", false), "Why?");
  EXPECT_EQ(join_piped("", "Why?", false), "Why?");
  EXPECT_EQ(join_piped("Once\n", " upon", true), "Once\n upon");
}

TEST(RunArguments, NoneIsTheDemoModel) {
  const auto arguments = split_run_arguments({}, {});
  EXPECT_EQ(arguments.model, "");
  EXPECT_FALSE(arguments.prompt.has_value());
}

}  // namespace
}  // namespace pippin::cli
