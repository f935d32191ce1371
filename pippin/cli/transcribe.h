// pippin transcribe: the text of recordings.
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace pippin::cli {

CLI::App* add_transcribe_command(CLI::App& app);

}  // namespace pippin::cli
