// The steps of a release: each is a command of this program, run in a process of its own, and its
// record, with which the next run of the release skips it.
//
//   OUTPUT/records/steps.json       keys, statuses, dates
//                 /int8.verify.json the command's output
//         /repo/...                 the files that are pushed
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pippin/cli/release/recipe.h"
#include "pippin/io/json.h"

namespace pippin::cli {

struct StepRecord {
  std::string name;  // "int8.verify", "pull", "push"
  std::string key;   // of everything that the result depends on
  Arguments command;
  int status = 0;
  std::string date;  // of its end
  double seconds = 0;
  std::string error;  // the last line on stderr of a step that failed
  bool is_reused = false;
  std::optional<Json> result;  // its output; nullopt: it has none
};

class StepRecords {
 public:
  // Reads the records of earlier runs. Throws Io.
  explicit StepRecords(std::filesystem::path output);

  // Whether an earlier run has the result of this step: the same arguments and inputs.
  bool has(const std::string& name, const std::string& key) const;
  // Runs `pippin ARGUMENTS`, unless `may_reuse` and an earlier run did so, and returns its record.
  // The result of a step that prints JSON and exits with a status other than 0 counts, too: a gate
  // decides about it. Throws Cancelled.
  StepRecord run(const std::string& name, const std::string& key, const Arguments& arguments,
                 bool may_reuse = true);
  // The file with the step's output.
  std::filesystem::path output_of(const std::string& name) const;

 private:
  void save() const;
  std::filesystem::path folder_;
  std::map<std::string, StepRecord> records_;
};

// A key of texts, in which their order and limits count.
std::string step_key(const std::vector<std::string>& parts);

}  // namespace pippin::cli
