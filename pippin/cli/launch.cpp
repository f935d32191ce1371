#include "pippin/cli/launch.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_guard.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/base/threads/thread.h"
#include "pippin/cli/options/model_entry.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/repl/client.h"
#include "pippin/server/client_setups.h"
#include "pippin/server/server.h"

extern char** environ;

namespace pippin::cli {
namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:8080";

struct LaunchCommand {
  std::string client, model, url, key;
  std::vector<std::string> arguments;
  bool only_prints = false, has_own_server = false;
  runtime::LoadOptions load;
};

// A server in this process that runs as long as the agent.
class LocalServer {
 public:
  explicit LocalServer(server::Options options) : server_(with_signal(std::move(options))) {
    thread_.emplace([this] {
      try {
        server_.run();
        ready_.set_exception(std::make_exception_ptr(Error(ErrorCode::Cancelled, "it ended")));
      } catch (const std::future_error&) {
        return;  // it was ready before
      } catch (...) {
        try {
          ready_.set_exception(std::current_exception());
        } catch (const std::future_error&) {
          return;
        }
      }
    });
    try {
      ready_.get_future().get();
    } catch (...) {
      stop();
      throw;
    }
  }
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;
  ~LocalServer() { stop(); }

  std::string url() const { return server_.urls().front(); }

 private:
  server::Options with_signal(server::Options options) {
    options.on_ready = [this] { ready_.set_value(); };
    return options;
  }
  void stop() {
    server_.stop();
    server_.stop();  // immediately
    thread_.reset();
  }

  std::promise<void> ready_;
  server::Server server_;
  std::optional<Thread> thread_;
};

std::string find_program(const server::ClientSetup& client) {
  const char* const path = std::getenv("PATH");
  std::string folders = path == nullptr ? "" : path;
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    std::string file = folders.substr(0, end) + "/" + std::string(client.program);
    if (end > 0 && ::access(file.c_str(), X_OK) == 0) return file;
    folders.erase(0, end + 1);
  }
  fail(ErrorCode::NotFound, "{} is not installed: no {} in PATH; to install it: {}", client.title,
       client.program, client.install);
}

std::vector<repl::ModelInfo> models_at(const std::string& url, const std::string& key) {
  return repl::Client(repl::connect(url, key)).models();
}

const repl::ModelInfo& choose(const std::vector<repl::ModelInfo>& models, const std::string& name,
                              const std::string& url) {
  std::string names;
  for (const repl::ModelInfo& one : models) {
    if (name.empty() || one.name == name) return one;
    names += (names.empty() ? "" : ", ") + one.name;
  }
  fail(ErrorCode::NotFound, "{} has no model \"{}\", but {}", url, name,
       names.empty() ? "none" : names);
}

// The agent owns the terminal and its signals until it ends.
int run_client(const std::string& program, const server::LaunchSettings& settings,
               const std::vector<std::string>& more) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), settings.arguments.begin(), settings.arguments.end());
  words.insert(words.end(), more.begin(), more.end());
  std::map<std::string, std::string> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string text = *one;
    variables[text.substr(0, text.find('='))] =
        text.substr(std::min(text.find('='), text.size() - 1) + 1);
  }
  for (const auto& [name, value] : settings.variables) variables[name] = value;
  std::vector<std::string> lines;
  lines.reserve(variables.size());
  for (const auto& [name, value] : variables) lines.push_back(fmt::format("{}={}", name, value));
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  };
  const std::vector<char*> argv = pointers(words), envp = pointers(lines);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  struct sigaction ignore = {}, interrupt = {}, quit = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &ignore, &interrupt);
  ::sigaction(SIGQUIT, &ignore, &quit);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, program.c_str(), nullptr, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  int status = 0;
  while (failed == 0 && ::waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) ::kill(child, SIGTERM);  // this process got a signal to end
  }
  ::sigaction(SIGINT, &interrupt, nullptr);
  ::sigaction(SIGQUIT, &quit, nullptr);
  if (failed != 0) fail(ErrorCode::Io, "{}: cannot be started: {}", program, std::strerror(failed));
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int launch(const LaunchCommand& command) {
  const server::ClientSetup& client = *server::find_client_setup(command.client);
  if (client.program.empty() && !command.only_prints) {
    fail(ErrorCode::InvalidArgument, "{} is not started by pippin: --print shows what {} needs",
         client.title, client.place);
  }
  const std::string program = command.only_prints ? std::string() : find_program(client);
  server::ClientTarget target{.url = command.url.empty() ? kDefaultUrl : command.url,
                              .key = command.key};
  if (const char* key = std::getenv("PIPPIN_API_KEY"); target.key.empty() && key != nullptr) {
    target.key = key;
  }
  if (target.url.starts_with("unix:")) {
    fail(ErrorCode::InvalidArgument, "--url {}: agents reach no Unix sockets", target.url);
  }
  std::optional<LocalServer> local;
  std::vector<repl::ModelInfo> models;
  const bool may_start = command.url.empty() && !command.only_prints;
  bool starts = command.has_own_server;
  if (!starts) {
    try {
      models = models_at(target.url, target.key);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Network || !may_start) throw;
      starts = true;
    }
  }
  if (starts) {
    guard_mapped_files(MappedGuard::MarkFile);
    server::Options options;
    options.http.addresses.push_back({.host = "127.0.0.1", .port = 0});
    options.models.models.push_back(model_entry(command.model.empty() ? "demo" : command.model));
    options.models.choice.load = command.load;
    options.models.choice.pulls = show_pulls();
    if (!target.key.empty()) options.access.keys.push_back(target.key);
    local.emplace(std::move(options));
    target.url = local->url();
    models = models_at(target.url, target.key);
  }
  while (target.url.ends_with('/')) target.url.pop_back();
  if (target.url.ends_with("/v1")) target.url.resize(target.url.size() - 3);
  const repl::ModelInfo& model = choose(models, local ? "" : command.model, target.url);
  target.model = model.name;
  target.context = model.context;
  if (command.only_prints) {
    std::printf("%s\n", server::setup_text(client, target).c_str());
    return 0;
  }
  std::fprintf(stderr, "pippin: %s with %s at %s\n", std::string(client.title).c_str(),
               target.model.c_str(), target.url.c_str());
  return run_client(program, client.settings(target), command.arguments);
}

}  // namespace

CLI::App* add_launch_command(CLI::App& app, int& status) {
  auto command = std::make_shared<LaunchCommand>();
  CLI::App* sub = app.add_subcommand("launch", "Start Claude Code, Codex or opencode with a model");
  std::vector<std::string> names;
  for (const server::ClientSetup& client : server::client_setups()) {
    names.emplace_back(client.name);
  }
  sub->add_option("CLIENT", command->client,
                  "claude, codex or opencode; with --print also others, such as continue or curl")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember(names).description(""));
  sub->add_option("ARGUMENT", command->arguments, "Arguments for the client, after --")
      ->type_name("");
  sub->add_option("--model", command->model,
                  "A model of the server; where none runs, what `pippin serve` takes (the first "
                  "one; demo)")
      ->type_name("MODEL");
  CLI::Option* const url =
      sub->add_option(
             "--url", command->url,
             "The server; without it http://127.0.0.1:8080, or one that lasts as long as the "
             "client")
          ->type_name("URL");
  CLI::Option* const own =
      sub->add_flag("--own", command->has_own_server, "A server of its own, also where one runs");
  own->excludes(url);
  sub->add_option("--api-key", command->key, "The server's key; also PIPPIN_API_KEY")
      ->type_name("KEY");
  sub->add_flag("--print", command->only_prints,
                "Print the command for a shell, or what else the client needs, and start nothing");
  add_load_options(*sub, command->load);
  add_template_option(*sub, command->load);
  sub->callback([command, &status] { status = launch(*command); });
  return sub;
}

}  // namespace pippin::cli
