// Tabular Core ML models with the results of scikit-learn, libsvm, XGBoost and coremltools' own
// tests, in this process.
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/api/archive.h"
#include "pippin/api/model.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/cli/options/rows_file.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
constexpr JsonLimits kLimits{.python_numbers = true};

struct Tolerance {
  double absolute = 1e-5, relative = 1e-5;
};

std::string difference(double found, double wanted, Tolerance tolerance) {
  const bool same =
      found == wanted || (std::isnan(found) && std::isnan(wanted)) ||
      std::abs(found - wanted) <= tolerance.absolute + tolerance.relative * std::abs(wanted);
  return same ? "" : fmt::format("{}, not {}", found, wanted);
}

void flatten(const Json& json, std::vector<double>& numbers) {
  if (!json.is_array()) return numbers.push_back(json.as_float());
  for (const Json& element : json.elements()) flatten(element, numbers);
}

// The first difference of two values of a row, or ""; absent keys count as 0.
std::string difference(const Json& found, const Json& wanted, Tolerance tolerance) {
  if (wanted.is_string()) {
    const bool same = found.is_string() && found.as_string() == wanted.as_string();
    return same ? "" : fmt::format("{}, not {}", found.dump(), wanted.dump());
  }
  if (wanted.is_object()) {
    if (!found.is_object()) return "not a dictionary";
    for (const Json* both : {&found, &wanted}) {
      for (const auto& [key, value] : both->members()) {
        const auto number = [&, &name = key](const Json& of) {
          return of.contains(name) ? of.at(name).as_float() : 0.0;
        };
        const std::string text = difference(number(found), number(wanted), tolerance);
        if (!text.empty()) return fmt::format("[{}]: {}", key, text);
      }
    }
    return "";
  }
  std::vector<double> numbers, expected;
  flatten(found, numbers);
  flatten(wanted, expected);
  if (numbers.size() != expected.size()) {
    return fmt::format("{} numbers, not {}", numbers.size(), expected.size());
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::string text = difference(numbers[i], expected[i], tolerance);
    if (!text.empty()) return fmt::format("[{}]: {}", i, text);
  }
  return "";
}

// The outputs of every row, written and read again.
Json predicted(const fs::path& model, const fs::path& rows_file) {
  const Function function = Model::load(model, {.num_threads = 1}).function();
  std::vector<Values> results;
  for (const Values& row : cli::read_rows(rows_file, function.inputs())) {
    results.push_back(function.predict(row));
  }
  return Json::parse(api::rows_text(api::RowsFormat::Json, function.outputs(), results), "outputs",
                     kLimits);
}

std::string compare_rows(const Json& found, const Json& wanted, const Json& tolerances) {
  if (found.size() != wanted.size()) return fmt::format("{} rows", found.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (const auto& [name, value] : wanted.at(i).members()) {
      Tolerance tolerance;
      if (const auto given = tolerances.find(name)) {
        tolerance = {given->at(size_t{0}).as_float(), given->at(1).as_float()};
      }
      const std::string text = difference(found.at(i).at(name), value, tolerance);
      if (!text.empty()) return fmt::format("row {}: {}: {}", i, name, text);
    }
  }
  return "";
}

std::string compare_arrays(const fs::path& folder, const Json& tolerances) {
  const Function function = Model::load(folder / "model.mlmodel", {.num_threads = 1}).function();
  const Values outputs = function.predict(read_archive(folder / "in.npz"));
  for (const auto& [name, wanted] : read_archive(folder / "expected.npz")) {
    const std::vector<double> numbers = tensor_at(outputs, name).to_doubles();
    const std::vector<double> expected = std::get<Tensor>(wanted).to_doubles();
    if (numbers.size() != expected.size()) return fmt::format("{}: another size", name);
    const Json limits = tolerances.at(name);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const std::string text = difference(
          numbers[i], expected[i], {limits.at(size_t{0}).as_float(), limits.at(1).as_float()});
      if (!text.empty()) return fmt::format("{}[{}]: {}", name, i, text);
    }
  }
  return "";
}

bool has_network(const Json& about) {
  const std::vector<std::string> kinds = about.get_strings("kinds");
  return std::any_of(kinds.begin(), kinds.end(),
                     [](const std::string& kind) { return kind.starts_with("neuralNetwork"); });
}

// The first difference in a case, or "".
std::string fault_in(const fs::path& folder, const Json& about) {
  const bool refused = about.get_string("compare") == "refused";
  try {
    const Json tolerances = about.at("tolerance");
    if (!fs::exists(folder / "in.json")) return compare_arrays(folder, tolerances);
    const Json found = predicted(folder / "model.mlmodel", folder / "in.json");
    if (refused) return "not refused";
    return compare_rows(found, Json::load(folder / "expected.json", kLimits), tolerances);
  } catch (const Error& error) {
    return refused ? "" : error.what();
  }
}

TEST(TabularCases, GiveWhatTheirFrameworksGive) {
  PIPPIN_SHARED_OR_SKIP(cases, "oldkinds");
  const TempDir scratch;
  int passed = 0;
  for (const char* group : {"extra", "misc", "sklearn", "xgboost"}) {
    const fs::path folder = scratch / group;
    fs::create_directory(folder);
    ASSERT_EQ(run_process(
                  {"tar", "-xzf", (cases / group / "cases.tar.gz").string(), "-C", folder.string()})
                  .status,
              0);
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().filename() != "case.json") continue;
      const Json about = Json::load(entry.path(), kLimits);
      if (has_network(about)) continue;
      const std::string fault = fault_in(entry.path().parent_path(), about);
      EXPECT_EQ(fault, "") << entry.path();
      passed += fault.empty() ? 1 : 0;
    }
  }
  EXPECT_GE(passed, 330);
}

// Models from public repositories.
TEST(TabularCases, PublicModels) {
  PIPPIN_SHARED_OR_SKIP(reports, "reports/coreml");
  for (const char* name :
       {"old-betterrest/model.mlmodel", "old-bodyfat-onehot/model.mlmodel",
        "old-compiled-boston/model.mlmodelc", "old-eog-trees/model.mlmodel",
        "old-house-trees/model.mlmodel", "old-improve-ai-trees/model.mlmodel",
        "old-iris-svm/model.mlmodel", "old-sentiment/model.mlmodel",
        "old-nn-batchedmatmul/model.mlmodel", "old-nn-elu/model.mlmodel",
        "old-nn-identity/model.mlmodel", "old-nn-linear-softmax/model.mlmodel",
        "old-nn-mnist/model.mlmodel", "old-nn-traced/model.mlmodel", "old-nn-xor/model.mlmodel"}) {
    const fs::path model = reports / name;
    const Json cases = Json::load(model.parent_path() / "expected.json", kLimits);
    std::string rows, wanted;
    for (const Json& one : cases.elements()) {
      rows += fmt::format("{}\n", one.at("inputs").dump());
      wanted += fmt::format("{}{}", wanted.empty() ? "[" : ",", one.at("outputs").dump());
    }
    const TempDir scratch;
    write_file(scratch / "in.jsonl", rows);
    EXPECT_EQ(compare_rows(predicted(model, scratch / "in.jsonl"),
                           Json::parse(wanted + "]", "expected", kLimits), Json::parse("{}", "")),
              "")
        << name;
  }
}

}  // namespace
}  // namespace pippin
