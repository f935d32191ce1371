// The command line: parses, calls, prints. Errors are caught here, once: one line on stderr.
//
// Exit status: 0, 1 for an error, 2 for wrong usage, 3 for a valid input that Pippin does not
// support, 4 and 5 for findings of `pippin doctor`, 6 to 8 for gates of `pippin release`, 128 + n
// after signal n (130 after Ctrl-C).

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_guard.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/cli/batch/batch.h"
#include "pippin/cli/bench/bench.h"
#include "pippin/cli/cache.h"
#include "pippin/cli/calibrate.h"
#include "pippin/cli/card.h"
#include "pippin/cli/chat.h"
#include "pippin/cli/command_tree.h"
#include "pippin/cli/compile.h"
#include "pippin/cli/compress.h"
#include "pippin/cli/constrain.h"
#include "pippin/cli/convert.h"
#include "pippin/cli/devices.h"
#include "pippin/cli/diff.h"
#include "pippin/cli/doctor.h"
#include "pippin/cli/embed.h"
#include "pippin/cli/inspect.h"
#include "pippin/cli/launch.h"
#include "pippin/cli/list.h"
#include "pippin/cli/logits.h"
#include "pippin/cli/options/backend.h"
#include "pippin/cli/options/ranks.h"
#include "pippin/cli/options/suggest.h"
#include "pippin/cli/plan.h"
#include "pippin/cli/predict.h"
#include "pippin/cli/pull.h"
#include "pippin/cli/push.h"
#include "pippin/cli/release/release.h"
#include "pippin/cli/repackage.h"
#include "pippin/cli/rm.h"
#include "pippin/cli/run.h"
#include "pippin/cli/serve.h"
#include "pippin/cli/template.h"
#include "pippin/cli/tokenize.h"
#include "pippin/cli/transcribe.h"
#include "pippin/cli/verify.h"
#include "pippin/cli/version.h"

namespace {

volatile std::sig_atomic_t received_signal = 0;
pippin::CancelToken interrupted;

// The first signal ends the work in an orderly way, the second one ends the process.
void handle_signal(int number) {
  received_signal = number;
  interrupted.request();
}

void install_signal_handler(int number) {
  struct sigaction action = {};
  action.sa_handler = handle_signal;
  // Without SA_RESTART, so that a signal ends a wait for input.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(number, &action, nullptr);
}

int cancelled_status() {
  return 128 + (received_signal != 0 ? received_signal : SIGINT);
}

// A message may contain names chosen by a file or a server: it must stay one readable line and must
// not send control sequences to the terminal.
std::string one_line(std::string_view message) {
  constexpr size_t kMostBytes = 4000;
  std::string line;
  for (size_t i = 0; i < message.size();) {
    const char32_t c = pippin::decode_utf8(message, i);
    if (line.size() > kMostBytes) return line + " ...";
    const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E);
    pippin::append_utf8(line, control ? U' ' : c);
  }
  return line;
}

int report(std::string_view message, int status) {
  std::fflush(stdout);
  std::fprintf(stderr, "pippin: error: %s\n", one_line(message).c_str());
  return status;
}

// " (see pippin run --help)", for the command that was being parsed.
std::string see_help(const CLI::App& app) {
  std::string name = "pippin";
  for (const CLI::App* command : app.get_subcommands()) {
    name += " " + command->get_name();
    break;
  }
  return " (see " + name + " --help)";
}

int run(int argc, char** argv) {
  CLI::App app{
      "Turns Hugging Face language models into Core ML packages, and runs Core ML models: "
      "everywhere.",
      "pippin"};
  app.set_version_flag("--version", pippin::cli::version_text, "Print the version and exit");
  bool wants_tree = false;
  app.add_flag("--command-tree", wants_tree)->group("");  // for packaging/make_docs.py
  app.get_formatter()->column_width(34);
  int exit_status = 0;
  pippin::cli::add_run_command(app, exit_status);
  pippin::cli::add_chat_command(app);
  pippin::cli::add_serve_command(app);
  pippin::cli::add_batch_command(app);
  pippin::cli::add_launch_command(app, exit_status);
  pippin::cli::add_bench_command(app);
  pippin::cli::add_plan_command(app);
  pippin::cli::add_pull_command(app);
  pippin::cli::add_card_command(app);
  pippin::cli::add_push_command(app);
  pippin::cli::add_release_command(app, exit_status);
  pippin::cli::add_list_command(app);
  pippin::cli::add_rm_command(app);
  pippin::cli::add_cache_command(app);
  pippin::cli::add_embed_command(app);
  pippin::cli::add_rerank_command(app);
  pippin::cli::add_transcribe_command(app);
  pippin::cli::add_predict_command(app);
  pippin::cli::add_convert_command(app);
  pippin::cli::add_compress_command(app);
  pippin::cli::add_calibrate_command(app);
  pippin::cli::add_inspect_command(app);
  pippin::cli::add_doctor_command(app, exit_status);
  pippin::cli::add_compile_command(app);
  pippin::cli::add_repackage_command(app);
  pippin::cli::add_devices_command(app);
  pippin::cli::add_logits_command(app);
  pippin::cli::add_verify_command(app, exit_status);
  pippin::cli::add_diff_command(app, exit_status);
  pippin::cli::add_template_command(app);
  pippin::cli::add_constrain_command(app, exit_status);
  pippin::cli::add_tokenize_command(app);
  pippin::cli::add_detokenize_command(app);
  pippin::cli::add_core_ml_trial_command(app);
  app.footer(
      "pippin COMMAND --help tells more. Try: pippin run \"Tell me a story.\"\n"
      "pippin alone, at a terminal, is a chat with the demo model.");

  try {
    app.parse(argc, argv);
    if (wants_tree) {
      std::fputs(pippin::cli::command_tree_json(app).c_str(), stdout);
      return 0;
    }
    if (app.get_subcommands().empty()) {
      if (argc == 1 && pippin::cli::can_chat()) {
        pippin::cli::chat_with_demo();
        return 0;
      }
      std::fputs(app.help().c_str(), stderr);
      return 2;
    }
  } catch (const CLI::Success& success) {  // --help, --version
    if (const std::string unknown = pippin::cli::unknown_command(app); !unknown.empty()) {
      return report(unknown + see_help(app), 2);
    }
    const int status = app.exit(success);
    std::cout.flush();
    return std::cout ? status : report("standard output: cannot write", 1);
  } catch (const CLI::RuntimeError& status) {  // the command has printed the error
    return status.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (pippin::cli::repeats_command(app)) return 2;
    const std::string unknown = pippin::cli::unknown_command(app);
    return report(
        (unknown.empty() ? error.what() + pippin::cli::suggestion(app) : unknown) + see_help(app),
        2);
  } catch (const pippin::Error& error) {
    const bool is_of_options = error.code() == pippin::ErrorCode::InvalidArgument;
    if (is_of_options && pippin::cli::repeats_command(app)) return 1;
    throw;
  }
  return exit_status == 130 ? cancelled_status() : exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  install_signal_handler(SIGINT);
  install_signal_handler(SIGTERM);
  pippin::guard_mapped_files(pippin::MappedGuard::EndProgram);
  const pippin::CancelScope scope(interrupted);
  try {
    return run(argc, argv);
  } catch (const pippin::Error& error) {
    if (error.code() == pippin::ErrorCode::Cancelled) {
      std::fprintf(stderr, "pippin: cancelled\n");
      return cancelled_status();
    }
    return report(error.what(), error.code() == pippin::ErrorCode::Unsupported ? 3 : 1);
  } catch (const std::bad_alloc&) {
    return report("out of memory", 1);
  } catch (const std::exception& error) {
    return report(error.what(), 1);
  }
}
