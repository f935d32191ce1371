#include "pippin/cli/options/options.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "pippin/cli/options/sampling_options.h"
#include "pippin/cli/options/transcribe_options.h"

namespace pippin::cli {
namespace {

// The message that rejects the option's text; empty: it is accepted.
std::string parse(CLI::App& app, const std::string& option, const std::string& text) {
  std::vector<std::string> words = {text, option};  // the last one first
  try {
    app.parse(words);
  } catch (const CLI::Error& error) {
    return error.what();
  }
  return "";
}

TEST(Options, NumbersBeyond64BitsAreRejected) {
  const auto message = [](const std::string& text) {
    CLI::App app;
    int64_t value = 0;
    app.add_option("--n", value)->check(between(1));
    return parse(app, "--n", text);
  };
  EXPECT_EQ(message("9223372036854775807"), "");
  EXPECT_EQ(message("9223372036854775808"),
            "--n: 9223372036854775808 is not a number from 1 to 9223372036854775807");
  EXPECT_EQ(message("0"), "--n: 0 is not a number of 1 or more");
  EXPECT_EQ(message("1x"), "--n: 1x is not a number of 1 or more");
}

template <typename Arguments, typename Seed>
void expect_seeds(void (*add)(CLI::App&, Arguments&), const Seed& seed_of) {
  const auto message = [&](const std::string& text, uint64_t want) {
    CLI::App app;
    Arguments arguments;
    add(app, arguments);
    const std::string line = parse(app, "--seed", text);
    EXPECT_EQ(line.empty() ? seed_of(arguments) : want, want) << text;
    return line;
  };
  EXPECT_EQ(message("0", 0), "");
  EXPECT_EQ(message("9223372036854775808", uint64_t{1} << 63), "");
  EXPECT_EQ(message("18446744073709551615", UINT64_MAX), "");
  for (const char* text : {"18446744073709551616", "-1", "1.5", "x"}) {
    EXPECT_EQ(message(text, 0),
              "--seed: " + std::string(text) + " is not a number from 0 to 18446744073709551615");
  }
}

TEST(Options, SeedsAreTheSameInAllCommands) {
  expect_seeds(add_sampling_options, [](const SamplingArguments& of) { return of.seed.value(); });
  expect_seeds(add_transcribe_options,
               [](const TranscribeArguments& of) { return of.options.seed; });
}

}  // namespace
}  // namespace pippin::cli
