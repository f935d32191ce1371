#include "pippin/cli/batch/batch_script.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "pippin/base/numbers/number.h"

namespace pippin::cli {
namespace {

// Quotes a word for the shell.
std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

int64_t number_in(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  int64_t number = 0;
  return text != nullptr && parse_number(text, number) ? number : otherwise;
}

}  // namespace

std::string batch_script(const std::vector<std::string>& command, int64_t tasks,
                         const std::filesystem::path& folder,
                         const std::filesystem::path& log_folder) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + quoted(word);
  return fmt::format(
      "#!/bin/sh\n"
      "#SBATCH --job-name=pippin-batch\n"
      "#SBATCH --array=0-{}\n"
      "#SBATCH --requeue\n"
      "#SBATCH --signal=B:TERM@60\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --chdir=\"{}\"\n"
      "#SBATCH --output=\"{}/slurm-%A_%a.log\"\n"
      "exec {}\n",
      tasks - 1, folder.string(), log_folder.string(), line);
}

double first_share() {
  // The tasks of an array, or else those that srun starts.
  const bool is_array = std::getenv("SLURM_ARRAY_TASK_ID") != nullptr;
  const int64_t number =
      is_array ? number_in("SLURM_ARRAY_TASK_ID", 0) - number_in("SLURM_ARRAY_TASK_MIN", 0)
               : number_in("SLURM_PROCID", 0);
  const int64_t count = number_in(is_array ? "SLURM_ARRAY_TASK_COUNT" : "SLURM_NTASKS", 1);
  if (count < 1 || number < 0) return 0;
  return static_cast<double>(number % count) / static_cast<double>(count);
}

}  // namespace pippin::cli
