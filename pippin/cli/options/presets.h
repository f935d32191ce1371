// Presets: models of a server with their own options, from a file (preset_file.h). Keys are the
// options of `pippin serve` that apply to a model, without dashes, or llama-server's names of them.
#pragma once

#include <filesystem>
#include <vector>

#include "pippin/server/model_list.h"

namespace CLI {
class App;
}

namespace pippin::cli {

// Returns the models of a file. The command line takes precedence over the model's section, and the
// section over [*]. `command` is `pippin serve` after parsing. Throws Error for the faults of
// read_preset_file(), invalid keys and values, duplicate names, models that name each other in a
// circle, and missing files: one line with the place and what to do.
std::vector<server::ModelEntry> read_presets(const std::filesystem::path& file,
                                             const CLI::App& command);

}  // namespace pippin::cli
