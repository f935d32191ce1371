// Compares docs/conformance.md with the results of op_cases_test.
#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/engine/op_cases_testing.h"

namespace pippin::engine {
namespace {

struct Row {
  std::string_view tests;
  std::vector<OpCase> cases;
};

std::string markdown(const Row& row) {
  const auto whole = row.cases.size();
  std::string text = fmt::format("| {} | {} |", row.tests, whole);
  for (const Precision precision : kPrecisions) {
    const auto passed = std::count_if(row.cases.begin(), row.cases.end(), [&](const auto& item) {
      return find_expected_failure(item.name, precision) == nullptr;
    });
    text += fmt::format(" {} ({:.2f} %) |", passed,
                        100.0 * static_cast<double>(passed) / static_cast<double>(whole));
  }
  return text + "\n";
}

std::string conformance() {
  std::string text =
      "# Conformance\n\n"
      "How Pippin agrees with coremltools' own op tests and PyTorch-frontend tests, stored as "
      "stand-alone packages with\n"
      "inputs and expected outputs. `op_cases_test` runs them and holds this page to what it "
      "finds; "
      "`pippin predict\n"
      "--precision` names the columns. Tolerances: 1e-4 for programs without 16-bit values (or "
      "the suite's own if larger),\n"
      "2 % of the value plus 2 % of the output's root mean square with them, exact for "
      "integers.\n\n"
      "| tests | cases | reference | exact | fast |\n|---|---|---|---|---|\n";
  Row all{"all", {}};
  for (const char* set : kOpCaseSets) {
    const Row row{set, load_op_cases(set)};
    all.cases.insert(all.cases.end(), row.cases.begin(), row.cases.end());
    text += markdown(row);
  }
  text += markdown(all) + "\n## Failures\n\n";
  if (expected_failures().empty()) return text + "None.\n";
  text += "| case | precision | reason |\n|---|---|---|\n";
  for (const ExpectedFailure& failure : expected_failures()) {
    text +=
        fmt::format("| {} | {} | {} |\n", failure.name, name_of(failure.precision), failure.reason);
  }
  return text;
}

TEST(Conformance, ThePageSaysWhatTheTestsHold) {
  // The page covers all cases, not only those in the repository.
  const std::string archive = "op-cases/iOS14/cases.tar.gz";
  if (!shared_data(archive)) GTEST_SKIP() << shared_data_absent(archive);
  const std::string kPage = source_dir() / "docs/conformance.md";
  const std::string page = read_file(kPage);
  // The rest of the page is not about ops.
  const size_t end = page.find("\n## Chat templates\n");
  ASSERT_NE(end, std::string::npos);
  const std::string ops = conformance();
  if (std::getenv("PIPPIN_UPDATE_DOCS") != nullptr) {
    write_file(kPage, ops + page.substr(end));
    return;
  }
  EXPECT_EQ(page.substr(0, end), ops)
      << "to write it anew: PIPPIN_UPDATE_DOCS=1 "
         "build/release/pippin/engine/op_cases_test --gtest_filter='Conformance.*'";
}

}  // namespace
}  // namespace pippin::engine
