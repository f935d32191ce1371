// `pippin diff`: compares two models, or two versions of one, for reviews.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

// `exit_status` is set to 1 with --exit-code if the models differ.
CLI::App* add_diff_command(CLI::App& app, int& exit_status);

}  // namespace pippin::cli
