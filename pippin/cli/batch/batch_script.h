// Scripts that run `pippin batch` on a cluster.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pippin::cli {

// A script for sbatch: an array of `tasks` processes that run the command in a folder. Slurm tells
// them to end a minute before their time is up, and begins those again whose machine failed.
std::string batch_script(const std::vector<std::string>& command, int64_t tasks,
                         const std::filesystem::path& folder,
                         const std::filesystem::path& log_folder);

// Where this process of a Slurm job begins to search for work: a fraction of the shards; 0 outside
// of Slurm.
double first_share();

}  // namespace pippin::cli
