// For tests only: temporary folders, the place of the shared test data, and what errors say.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/base/temporary_folder.h"

namespace pippin {

// A fresh folder that is removed at the end of the test.
class TempDir : public TemporaryFolder {
 public:
  TempDir() : TemporaryFolder("test") {}
};

// The top of the checkout. One file knows it (testing.cpp), so that no other has to be compiled
// anew in another checkout.
std::filesystem::path source_dir();

// The folder data/<name> of the shared test data (PIPPIN_SHARED, default ../shared beside the
// sources), or nothing where it is absent: the test then skips and says so. With
// PIPPIN_REQUIRE_SHARED=1 an absent one throws, which fails the test.
std::optional<std::filesystem::path> shared_data(const std::string& name);

// What a test that skips for want of it says. testing_main.cpp counts them.
std::string shared_data_absent(std::string_view name);

// How an error is other than one of `code` that says `part`, or nothing.
std::string fault_of(const Error& error, ErrorCode code, std::string_view part);

}  // namespace pippin

// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared
// PIPPIN_SHARED_OR_SKIP(path, "models/stories260K"); declares `path` in a TEST, or skips it.
#define PIPPIN_SHARED_OR_SKIP(variable, name)                                \
  const auto variable##_found = ::pippin::shared_data(name);                 \
  if (!variable##_found) GTEST_SKIP() << ::pippin::shared_data_absent(name); \
  const std::filesystem::path& variable = *variable##_found
// NOLINTEND(bugprone-macro-parentheses)

// EXPECT_ERROR(Json::parse("{", "file"), ErrorCode::InvalidFile, "file: the text ends");
// The statement throws an Error with this code and this part of a message.
#define EXPECT_ERROR(statement, code, part)                                                     \
  do {                                                                                          \
    try {                                                                                       \
      statement;                                                                                \
      ADD_FAILURE() << #statement " throws nothing";                                            \
    } catch (const ::pippin::Error& thrown) {                                                   \
      EXPECT_EQ(::pippin::fault_of(thrown, code, part), "") << "is what " #statement " throws"; \
    }                                                                                           \
  } while (false)
