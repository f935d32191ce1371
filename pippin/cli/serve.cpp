#include "pippin/cli/serve.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/open/voice_model.h"
#include "pippin/base/error.h"
#include "pippin/base/files/mapped_guard.h"
#include "pippin/base/log.h"
#include "pippin/cli/batch/crash_mark.h"
#include "pippin/cli/options/model_entry.h"
#include "pippin/cli/options/model_options.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/presets.h"
#include "pippin/cli/options/ranks.h"
#include "pippin/cli/options/tool_options.h"
#include "pippin/cli/service_manager.h"
#include "pippin/io/json.h"
#include "pippin/server/server.h"

namespace pippin::cli {
namespace {

struct ServeCommand {
  std::vector<std::string> models, pinned;
  std::string host = "127.0.0.1", unix_path, presets, log_format = "text";
  int64_t port = 8080, max_body = 32 << 20, timeout = 60, grace = 10, ping = 5, form_timeout = 10,
          tool_timeout = 60;
  uint64_t max_model_memory = 0;
  int tensor_parallel = 1;
  bool no_auth = false, ollama = false, quiet = false, verbose = false;
  ModelArguments model_options;  // of every model
  ToolOptions tools;
  server::Options options;
  const CLI::App* parsed = nullptr;
};

void set_addresses(const ServeCommand& command, http::ServerOptions& options) {
  const int inherited = count_inherited_sockets();
  for (int i = 0; i < inherited; ++i) {
    options.addresses.push_back({.inherited = kFirstInherited + i});
  }
  if (inherited > 0) return;
  if (!command.unix_path.empty()) {
    options.addresses.push_back({.path = command.unix_path});
    return;
  }
  options.addresses.push_back({.host = command.host, .port = static_cast<uint16_t>(command.port)});
}

// Ollama's clients use this address by default.
void add_ollama_address(const ServeCommand& command, http::ServerOptions& options) {
  constexpr uint16_t kPort = 11434;
  const bool is_there =
      std::any_of(options.addresses.begin(), options.addresses.end(),
                  [](const http::Address& address) { return address.port == kPort; });
  if (command.ollama && !is_there) {
    options.addresses.push_back({.host = command.host, .port = kPort});
  }
}

bool has_keys(const server::Options& options) {
  return !options.access.keys.empty() || !options.access.key_file.empty();
}

bool is_open_to_others(const server::Options& options) {
  return std::any_of(options.http.addresses.begin(), options.http.addresses.end(),
                     http::is_open_to_others);
}

void check(const ServeCommand& command, const server::Options& options) {
  if (options.http.certificate_file.empty() != options.http.key_file.empty()) {
    throw CLI::ValidationError("--tls-cert and --tls-key need each other");
  }
  if (!command.tools.commands.empty() && !has_keys(options) && is_open_to_others(options)) {
    throw CLI::ValidationError(
        "--tool: others can reach this server and could run its commands: give --api-key or "
        "--api-key-file");
  }
  if (has_keys(options) || command.no_auth) return;
  for (const http::Address& address : options.http.addresses) {
    if (!http::is_open_to_others(address)) continue;
    const std::string place = address.inherited < 0 ? "--host " + address.host
                                                    : fmt::format("socket {}", address.inherited);
    throw CLI::ValidationError(
        place +
        ": others can reach this server: give --api-key or --api-key-file, or say --no-auth");
  }
}

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string text_line(const server::RequestRecord& record) {
  std::string line = fmt::format("{} {} {} {} {} {:.1f} ms", timestamp(), record.peer,
                                 record.method, record.path, record.status, record.seconds * 1000);
  if (!record.model.empty()) line += " model=" + record.model;
  if (record.has_usage) {
    const server::Usage& usage = record.usage;
    line += fmt::format(
        " prompt={} cached={} generated={} queue={:.1f} ms read={:.1f} ms first={:.1f} ms",
        usage.prompt_tokens, usage.cached_tokens, usage.generated_tokens,
        usage.queue_seconds * 1000, usage.prompt_seconds * 1000, usage.first_token_seconds * 1000);
  }
  return line + " id=" + record.id + "\n";
}

// Uses the names of OpenTelemetry's conventions for generative models if there are any.
std::string json_line(const server::RequestRecord& record) {
  JsonWriter json;
  json.begin_object().member("time", timestamp()).member("request_id", record.id);
  json.member("client.address", record.peer).member("http.request.method", record.method);
  json.member("url.path", record.path).member("http.response.status_code", record.status);
  json.member("duration_ms", record.seconds * 1000);
  if (!record.model.empty()) json.member("gen_ai.request.model", record.model);
  if (record.has_usage) {
    const server::Usage& usage = record.usage;
    json.member("gen_ai.usage.input_tokens", usage.prompt_tokens);
    json.member("gen_ai.usage.cached_tokens", usage.cached_tokens);
    json.member("gen_ai.usage.output_tokens", usage.generated_tokens);
    json.member("queue_ms", usage.queue_seconds * 1000);
    json.member("prompt_ms", usage.prompt_seconds * 1000);
    json.member("first_token_ms", usage.first_token_seconds * 1000);
    json.member("decode_ms", (usage.total_seconds - usage.first_token_seconds) * 1000);
  }
  return json.end_object().text() + "\n";
}

// Models of one path stay one model.
void pin(const std::string& name, const server::ModelSettings& otherwise,
         std::vector<server::ModelEntry>& models) {
  const auto is_called = [&](const server::ModelEntry& one) {
    return one.name == name ||
           std::find(one.aliases.begin(), one.aliases.end(), name) != one.aliases.end();
  };
  const auto found = std::find_if(models.begin(), models.end(), is_called);
  if (found == models.end()) {
    throw CLI::ValidationError("--pin " + name + ": unknown model");
  }
  const auto before = found->settings;
  auto settings = std::make_shared<server::ModelSettings>(before == nullptr ? otherwise : *before);
  settings->is_pinned = true;
  const std::string path = found->path;
  for (server::ModelEntry& one : models) {
    if (one.path == path && one.settings == before) one.settings = settings;
  }
}

std::vector<server::ModelEntry> find_models(const ServeCommand& command) {
  std::vector<server::ModelEntry> models;
  for (const std::string& model : command.models) models.push_back(model_entry(model));
  if (!command.presets.empty()) {
    for (auto& model : read_presets(command.presets, *command.parsed)) {
      models.push_back(std::move(model));
    }
  }
  if (models.empty()) models.push_back(model_entry("demo"));
  const server::ModelSettings settings = command.model_options.settings();
  for (const std::string& name : command.pinned) pin(name, settings, models);
  return models;
}

// Models of voice are opened with models of speech, most of which are loaded on request. Throws
// like open_voice(), so that an unsuitable one is reported at start.
void check_voices(const server::ModelListOptions& options) {
  std::set<std::string> checked;
  const auto check = [&](const app::ModelChoice& choice) {
    if (!choice.vad.empty() && checked.insert(choice.vad).second) app::open_voice(choice);
  };
  check(options.choice);
  for (const server::ModelEntry& model : options.models) {
    if (model.settings != nullptr) check(model.settings->choice);
  }
}

void serve(ServeCommand& command) {
  guard_mapped_files(MappedGuard::MarkFile);  // other models keep running
  server::Options options = command.options;
  set_addresses(command, options.http);
  add_ollama_address(command, options.http);
  if (const char* key = std::getenv("PIPPIN_API_KEY"); key != nullptr && *key != '\0') {
    options.access.keys.emplace_back(key);
  }
  check(command, options);
  options.allows_pulls = has_keys(options) || !is_open_to_others(options);
  options.http.takes_signals = true;
  options.http.max_body_bytes = static_cast<uint64_t>(command.max_body);
  options.http.read_timeout = std::chrono::seconds(command.timeout);
  options.http.write_timeout = std::chrono::seconds(command.timeout);
  options.http.grace = std::chrono::seconds(command.grace);
  options.silence = std::chrono::seconds(command.ping);
  options.form_timeout = std::chrono::seconds(command.form_timeout);
  options.tools = command.tools.tools();
  options.tool_timeout = std::chrono::seconds(command.tool_timeout);
  static_cast<server::ModelSettings&>(options.models) = command.model_options.settings();
  options.models.max_bytes = command.max_model_memory;
  options.models.models = find_models(command);
  if (serve_as_rank(options.models, command.tensor_parallel)) return;
  options.responses.folder = options.models.scheduler.cache_disk;
  if (!command.quiet) {
    const bool as_json = command.log_format == "json";
    options.log = [as_json](const server::RequestRecord& record) {
      std::fputs((as_json ? json_line(record) : text_line(record)).c_str(), stderr);
    };
  }
  options.on_batch = mark_crashes;
  options.on_ready = [] { notify_service_manager("READY=1\nSTATUS=Serving"); };
  options.on_stopping = [] {
    notify_service_manager("STOPPING=1\nSTATUS=Finishing the answers under way");
  };
  const LogScope log(command.verbose ? LogLevel::Debug
                     : command.quiet ? LogLevel::Warn
                                     : LogLevel::Info);
  check_voices(options.models);
  server::Server server(std::move(options));
  for (const std::string& url : server.urls()) {
    std::fprintf(stderr, "pippin: listening at %s\n", url.c_str());
  }
  server.run();
}

}  // namespace

CLI::App* add_serve_command(CLI::App& app) {
  auto command = std::make_shared<ServeCommand>();
  CLI::App* sub = app.add_subcommand("serve", "Serve models over HTTP, as OpenAI's API");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  server::Options& options = command->options;
  option("MODEL", command->models, "",
         "What `pippin run` takes, or NAME=MODEL; several; without one, the demo model");
  option("--host", command->host, "HOST", "Name or address to listen at (127.0.0.1)");
  option("--port", command->port, "PORT", "Port to listen at (8080); 0: any that is free")
      ->check(between(0, 65535));
  option("--unix", command->unix_path, "PATH", "Listen at a Unix socket instead");
  sub->add_flag("--ollama", command->ollama, "Listen at ollama's port as well (11434)");
  option("--presets,--models-preset", command->presets, "FILE",
         "Models with options of their own: INI as of llama-server, or JSON");
  option("--pin", command->pinned, "NAME",
         "Load this model at start and never unload it by itself; repeatable")
      ->allow_extra_args(false);
  option("--max-model-memory", command->max_model_memory, "BYTES",
         "Unload models, least recently used first, above this total size of their files")
      ->transform(size_in_bytes());
  option("--stored-responses", options.responses.limit, "BYTES",
         "Memory, and room in the folder of --cache-disk, for responses that clients continue; "
         "0: none (256M)")
      ->transform(size_in_bytes());
  option("--files", options.files.folder, "DIR",
         "Keep clients' files and batches there: /v1/files, /v1/batches");
  option("--files-size", options.files.max_total, "BYTES",
         "Size of all files above which uploads are refused (16G)")
      ->transform(size_in_bytes());
  option("--max-file", options.files.max_file, "BYTES", "Largest upload (200M)")
      ->transform(size_in_bytes())
      ->check(between(1));
  add_model_options(*sub, command->model_options);
  add_ranks_option(*sub, command->tensor_parallel);
  option("--api-key", options.access.keys, "KEY",
         "A key that clients must send; repeatable; also PIPPIN_API_KEY")
      ->allow_extra_args(false);
  option("--api-key-file", options.access.key_file, "FILE",
         "Keys, one a line; read again on SIGHUP");
  sub->add_flag("--no-auth", command->no_auth,
                "Require no key even if others can reach the server");
  option("--origin", options.access.origins, "ORIGIN",
         "Allow requests from pages of ORIGIN (CORS); *: all; repeatable")
      ->allow_extra_args(false);
  option("--allow-host", options.access.hosts, "NAME",
         "An additional host name of this server; repeatable")
      ->allow_extra_args(false);
  sub->add_flag("--allow-remote-images", options.models.allows_remote_images,
                "Fetch images at public http(s) URLs in requests (at most 20 MB each)");
  option("--tls-cert", options.http.certificate_file, "FILE",
         "Certificate chain in PEM: serve HTTPS; read again on SIGHUP");
  option("--tls-key", options.http.key_file, "FILE", "Its key in PEM");
  option("--max-body", command->max_body, "BYTES", "Largest body of a request (32M)")
      ->transform(size_in_bytes())
      ->check(between(1));
  option("--max-connections", options.http.max_connections, "N", "Connections at once (1024)")
      ->check(between(1, 100000));
  option("--timeout", command->timeout, "SECONDS",
         "For a client to send a request, and to take each part of the answer (60)")
      ->check(between(1, 86400));
  option("--form-timeout", command->form_timeout, "SECONDS",
         "To compile the form of an answer: a schema, a grammar, tools (10)")
      ->check(between(1, 86400));
  add_tool_options(*sub, command->tools, "from the page, after its user allowed the call");
  option("--tool-timeout", command->tool_timeout, "SECONDS",
         "For a command of --tool; then it is ended (60)")
      ->check(between(1, 86400));
  option("--ping", command->ping, "SECONDS", "Silence in a stream before a comment is sent (5)")
      ->check(between(1, 3600));
  option("--grace", command->grace, "SECONDS",
         "On SIGTERM, time to finish answers before they are cut off (10)")
      ->check(between(0, 86400));
  option("--log-format", command->log_format, "FORMAT", "Log of requests: text or json")
      ->check(CLI::IsMember({"text", "json"}).description(""));
  sub->add_flag("-q,--quiet", command->quiet, "Log no requests");
  sub->add_flag("-v,--verbose", command->verbose, "Report the choices made");
  sub->footer(
      "Endpoints: /v1/chat/completions, /v1/responses, /v1/completions, /v1/models,\n"
      "/v1/messages (Anthropic), /v1/embeddings, /v1/rerank, /v1/score, /v1/files, /v1/batches,\n"
      "/completion, /infill,\n"
      "/tokenize, /detokenize, /apply-template, /health, /props, /metrics, /slots, /status,\n"
      "/lora-adapters,\n"
      "/models/load and unload, ollama's /api/chat, generate, embed, tags, show, ps, pull, copy,\n"
      "delete and version.\n"
      "SIGTERM ends the server gracefully, a second one at once. docs/serve.md tells more.");
  command->parsed = sub;
  sub->callback([command] { serve(*command); });
  return sub;
}

}  // namespace pippin::cli
