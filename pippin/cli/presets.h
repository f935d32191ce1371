// Presets: models of a server with options of their own, from a file (preset_file.h). Keys are the
// options of `pippin serve` that concern a model, without dashes, or llama-server's names for them.
#pragma once

#include <filesystem>
#include <vector>

#include "pippin/server/model_list.h"

namespace CLI {
class App;
}

namespace pippin::cli {

// The models of a file. Of two values of an option that of the command line counts before that of
// the model's section, and this before that of [*]. `command` is `pippin serve` as it was parsed.
// Throws Error for what read_preset_file() refuses, keys and values that cannot be, names that come
// twice, models that name each other in a circle, and files that are not there: one line with the
// place and what to do.
std::vector<server::ModelEntry> read_presets(const std::filesystem::path& file,
                                             const CLI::App& command);

}  // namespace pippin::cli
