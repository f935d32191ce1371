// The stored op cases (data/op-cases) through the reference interpreter.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/engine/compare.h"
#include "pippin/engine/reference.h"
#include "pippin/io/json.h"
#include "pippin/mil/ops/op.h"
#include "pippin/mil/package.h"

namespace pippin::engine {
namespace {

namespace fs = std::filesystem;

// Cases that are skipped though the table has their ops, with the reason.
struct Exception {
  std::string_view prefix;
  std::string_view reason;
};
constexpr Exception kExceptions[] = {
    {"-", "(none yet)"},
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

struct Case {
  std::string name, test, compare, function;
  mil::Opset opset;
  int steps = 1;
  double mismatch_ratio = 0;
  bool stateful = false;
  std::map<std::string, Tolerance> tolerances;
  std::vector<std::string> ops;
};

std::vector<Case> load_cases(const fs::path& table) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);
  std::vector<Case> cases;
  while (std::getline(file, line)) {
    std::vector<std::string> fields = split(line, '\t');
    fields.resize(11);
    Case item;
    item.name = fields[0];
    item.test = fields[1];
    // iOS15 is CoreML5 and so on.
    item.opset = static_cast<mil::Opset>(std::stoi(fields[2].substr(3)) - 10);
    item.compare = fields[4];
    item.steps = std::stoi(fields[5]);
    item.function = fields[6];
    item.mismatch_ratio = std::stod(fields[7]);
    item.stateful = fields[8] == "1";
    for (const std::string& entry : split(fields[9], ';')) {
      const size_t equals = entry.rfind('='), comma = entry.rfind(',');
      item.tolerances[entry.substr(0, equals)] = {
          std::stod(entry.substr(equals + 1, comma - equals - 1)),
          std::stod(entry.substr(comma + 1)), item.mismatch_ratio};
    }
    item.ops = split(fields[10], ',');
    cases.push_back(std::move(item));
  }
  return cases;
}

// Unpacks the folder's archive into the build tree once.
fs::path unpack(const fs::path& source) {
  const fs::path target = fs::path(PIPPIN_BINARY_DIR) / "op-cases" / source.filename();
  const fs::path stamp = target / ".unpacked";
  const std::string size = std::to_string(fs::file_size(source / "cases.tar.gz"));
  std::string found;
  std::ifstream(stamp) >> found;
  if (found == size) return target;
  fs::remove_all(target);
  fs::create_directories(target);
  const std::string command = fmt::format("cd '{}' && '{}' -E tar xzf '{}'", target.string(),
                                          PIPPIN_CMAKE, (source / "cases.tar.gz").string());
  if (std::system(command.c_str()) != 0) throw std::runtime_error("cannot unpack the op cases");
  std::ofstream(stamp) << size;
  return target;
}

// What is wrong, or nothing.
std::string run_case(const Case& item, const fs::path& folder) {
  const mil::Model model = mil::read_package(folder / "model.mlpackage");
  const ReferenceInterpreter interpreter(model.program, item.function);
  const NamedTensors inputs = load_tensors(folder / "in.npz");
  ReferenceState state;
  if (item.stateful) state.states = load_tensors(folder / "state_in.npz");
  for (int step = 0; step < item.steps; ++step) {
    const NamedTensors outputs = interpreter.run(inputs, state);
    if (item.compare == "random") {
      const Json description = Json::load(folder / "case.json");
      for (const Json& output : description.at("outputs").elements()) {
        const auto it = outputs.find(output.get_string("name"));
        if (it == outputs.end()) return "an output is missing";
        mil::Tensor expected(mil::DataType::Float32, output.get_ints("shape"));
        const auto& values = it->second.values;
        if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
          return "a value is not finite";
        }
        const std::string wrong = difference(it->second, expected, {HUGE_VAL, 0});
        if (!wrong.empty()) return wrong;
      }
      continue;
    }
    const std::string file = step == 0 ? "expected.npz" : fmt::format("expected_{}.npz", step);
    for (const auto& [name, expected] : load_tensors(folder / file)) {
      const auto tolerance = item.tolerances.find(name);
      if (tolerance == item.tolerances.end()) continue;
      const auto it = outputs.find(name);
      if (it == outputs.end()) return "output " + name + " is missing";
      const std::string wrong = difference(it->second, expected, tolerance->second);
      if (!wrong.empty()) return fmt::format("{} (step {}): {}", name, step, wrong);
    }
  }
  return {};
}

// Runs the first `per_test` cases of every test function in a folder.
void run_folder(const std::string& folder, int per_test) {
  PIPPIN_SHARED_OR_SKIP(root, "op-cases");
  const fs::path cases = unpack(root / folder);
  int passed = 0, failed = 0, skipped = 0, excepted = 0;
  std::map<std::string, int> seen, missing;
  for (const Case& item : load_cases(root / folder / "cases.tsv")) {
    if (++seen[item.test] > per_test) continue;
    bool supported = true;
    for (const std::string& op : item.ops) {
      if (mil::find_op(op, item.opset) != nullptr) continue;
      supported = false;
      ++missing[op];
    }
    const bool exception =
        std::any_of(std::begin(kExceptions), std::end(kExceptions),
                    [&](const Exception& entry) { return item.name.starts_with(entry.prefix); });
    if (!supported || exception) {
      ++(supported ? excepted : skipped);
      continue;
    }
    std::string wrong;
    try {
      wrong = run_case(item, cases / item.name);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    ++(wrong.empty() ? passed : failed);
    if (!wrong.empty()) ADD_FAILURE() << folder << "/" << item.name << ": " << wrong;
  }
  std::cout << folder << ": " << passed << " passed, " << failed << " failed, " << excepted
            << " excepted, " << skipped << " with ops that the table lacks\n";
  for (const auto& [op, count] : missing) std::cout << "  " << op << " " << count << "\n";
}

class OpCases : public testing::TestWithParam<const char*> {};
TEST_P(OpCases, All) {
  run_folder(GetParam(), 1 << 20);
}
TEST_P(OpCases, Sample) {
  run_folder(GetParam(), 1);
}
INSTANTIATE_TEST_SUITE_P(Folders, OpCases,
                         testing::Values("iOS14", "iOS15", "iOS16", "iOS17", "iOS18", "torch"),
                         [](const auto& folder) { return std::string(folder.param); });

}  // namespace
}  // namespace pippin::engine
