#include "pippin/server/client_setups.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "pippin/io/json.h"
#include "pippin/shell/shell_places.h"

namespace pippin::server {
namespace {

using shell::shell_quoted;

// Many clients refuse to start without a key.
std::string key_of(const ClientTarget& target) {
  return target.key.empty() ? "pippin" : target.key;
}

LaunchSettings claude_settings(const ClientTarget& target) {
  LaunchSettings settings;
  settings.variables = {
      {"ANTHROPIC_BASE_URL", target.url},
      {"ANTHROPIC_AUTH_TOKEN", key_of(target)},
      {"ANTHROPIC_API_KEY", ""},  // a key of another server would override the token
      // Maps all kinds of its models to this one.
      {"ANTHROPIC_MODEL", target.model},
      {"ANTHROPIC_SMALL_FAST_MODEL", target.model},
      {"ANTHROPIC_DEFAULT_OPUS_MODEL", target.model},
      {"ANTHROPIC_DEFAULT_SONNET_MODEL", target.model},
      {"ANTHROPIC_DEFAULT_HAIKU_MODEL", target.model},
      {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"},
  };
  if (target.context > 0) {
    settings.variables.emplace_back("CLAUDE_CODE_MAX_CONTEXT_TOKENS",
                                    std::to_string(target.context));
  }
  return settings;
}

// Returns a JSON string, which is also valid in TOML, YAML, Python and JavaScript.
std::string quoted(const std::string& text) {
  JsonWriter json;
  return json.value(text).text();
}

LaunchSettings codex_settings(const ClientTarget& target) {
  const std::string provider = "model_providers.pippin.";
  std::vector<std::string> values = {
      "model_provider=\"pippin\"",
      "model=" + quoted(target.model),
      provider + "name=\"Pippin\"",
      provider + "base_url=" + quoted(target.url + "/v1"),
      provider + "env_key=\"PIPPIN_API_KEY\"",
      provider + "wire_api=\"responses\"",
  };
  if (target.context > 0) {
    values.push_back("model_context_window=" + std::to_string(target.context));
  }
  LaunchSettings settings{.variables = {{"PIPPIN_API_KEY", key_of(target)}}, .arguments = {}};
  for (const std::string& value : values) {
    settings.arguments.emplace_back("-c");
    settings.arguments.push_back(value);
  }
  return settings;
}

LaunchSettings opencode_settings(const ClientTarget& target) {
  JsonWriter json;
  json.begin_object().member("model", "pippin/" + target.model);
  json.member("small_model", "pippin/" + target.model);
  json.key("provider").begin_object().key("pippin").begin_object();
  json.member("name", "Pippin").member("npm", "@ai-sdk/openai-compatible");
  json.key("options").begin_object().member("baseURL", target.url + "/v1");
  json.member("apiKey", key_of(target)).end_object();
  json.key("models").begin_object().key(target.model).begin_object();
  json.member("name", target.model);
  if (target.context > 0) {
    json.key("limit").begin_object().member("context", target.context);
    json.member("output", target.context / 4).end_object();
  }
  json.end_object().end_object().end_object().end_object().end_object();
  return {.variables = {{"OPENCODE_CONFIG_CONTENT", json.text()}}, .arguments = {}};
}

std::string continue_text(const ClientTarget& target) {
  std::string text = fmt::format(
      "name: Pippin\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: {0}\n    provider: openai\n"
      "    model: {0}\n    apiBase: {1}\n    apiKey: {2}\n    roles: [chat, edit, apply]\n",
      quoted(target.model), quoted(target.url + "/v1"), quoted(key_of(target)));
  if (target.context > 0) {
    text += fmt::format("    defaultCompletionOptions:\n      contextLength: {}\n", target.context);
  }
  return text;
}

std::string vscode_text(const ClientTarget& target) {
  JsonWriter json(2);
  json.begin_object().member("github.copilot.chat.byok.ollamaEndpoint", target.url);
  return json.end_object().text();
}

std::string llama_vscode_text(const ClientTarget& target) {
  JsonWriter json(2);
  json.begin_object().member("llama-vscode.endpoint", target.url);
  json.member("llama-vscode.endpoint_chat", target.url);
  json.member("llama-vscode.endpoint_tools", target.url);
  json.member("llama-vscode.ai_model", target.model);
  json.member("llama-vscode.api_key", target.key);
  return json.end_object().text();
}

std::string open_webui_text(const ClientTarget& target) {
  return fmt::format("OPENAI_API_BASE_URL={} OPENAI_API_KEY={} open-webui serve",
                     shell_quoted(target.url + "/v1"), shell_quoted(key_of(target)));
}

std::string ollama_text(const ClientTarget& target) {
  std::string text = fmt::format("OLLAMA_HOST={} ollama run {}", shell_quoted(target.url),
                                 shell_quoted(target.model));
  if (!target.key.empty()) text = "# ollama sends no key: the server refuses it\n" + text;
  return text;
}

std::string python_text(const ClientTarget& target) {
  return fmt::format(
      "from openai import OpenAI\n\n"
      "client = OpenAI(base_url={}, api_key={})\n"
      "answer = client.chat.completions.create(\n"
      "    model={},\n"
      "    messages=[{{\"role\": \"user\", \"content\": \"Hello\"}}],\n"
      ")\n"
      "print(answer.choices[0].message.content)",
      quoted(target.url + "/v1"), quoted(key_of(target)), quoted(target.model));
}

std::string node_text(const ClientTarget& target) {
  return fmt::format(
      "import OpenAI from \"openai\";\n\n"
      "const client = new OpenAI({{ baseURL: {}, apiKey: {} }});\n"
      "const answer = await client.chat.completions.create({{\n"
      "  model: {},\n"
      "  messages: [{{ role: \"user\", content: \"Hello\" }}],\n"
      "}});\n"
      "console.log(answer.choices[0].message.content);",
      quoted(target.url + "/v1"), quoted(key_of(target)), quoted(target.model));
}

// Returns a curl command. A server without keys accepts any key.
std::string curl(const ClientTarget& target, std::string_view path, const std::string& body) {
  return fmt::format("curl {} \\\n  -H {} \\\n  -H 'Content-Type: application/json' \\\n  -d {}",
                     shell_quoted(fmt::format("{}{}", target.url, path)),
                     shell_quoted("Authorization: Bearer " + key_of(target)), shell_quoted(body));
}

std::string curl_text(const ClientTarget& target) {
  JsonWriter json;
  json.begin_object().member("model", target.model).key("messages").begin_array();
  json.begin_object().member("role", "user").member("content", "Hello").end_object();
  return curl(target, "/v1/chat/completions", json.end_array().end_object().text());
}

std::string embedding_curl_text(const ClientTarget& target) {
  JsonWriter json;
  json.begin_object().member("model", target.model).key("input").begin_array();
  json.value("Hello").end_array();
  return curl(target, "/v1/embeddings", json.end_object().text());
}

std::string rerank_curl_text(const ClientTarget& target) {
  JsonWriter json;
  json.begin_object().member("model", target.model).member("query", "Hello");
  json.key("documents").begin_array().value("Good morning").value("Goodbye").end_array();
  return curl(target, "/v1/rerank", json.end_object().text());
}

std::string embedding_python_text(const ClientTarget& target) {
  return fmt::format(
      "from openai import OpenAI\n\n"
      "client = OpenAI(base_url={}, api_key={})\n"
      "answer = client.embeddings.create(model={}, input=[\"Hello\"])\n"
      "print(answer.data[0].embedding)",
      quoted(target.url + "/v1"), quoted(key_of(target)), quoted(target.model));
}

constexpr const char* kShell = "a shell";
constexpr const char* kVsCode = "settings.json of VS Code";

constexpr std::array kClients = {
    ClientSetup{.name = "claude",
                .title = "Claude Code",
                .place = kShell,
                .language = "sh",
                .settings = claude_settings,
                .program = "claude",
                .install = "npm install -g @anthropic-ai/claude-code"},
    ClientSetup{.name = "codex",
                .title = "Codex",
                .place = kShell,
                .language = "sh",
                .settings = codex_settings,
                .program = "codex",
                .install = "npm install -g @openai/codex"},
    ClientSetup{.name = "opencode",
                .title = "opencode",
                .place = kShell,
                .language = "sh",
                .settings = opencode_settings,
                .program = "opencode",
                .install = "npm install -g opencode-ai"},
    ClientSetup{.name = "continue",
                .title = "Continue",
                .place = "~/.continue/config.yaml",
                .language = "yaml",
                .text = continue_text},
    // Later versions ask for the address in the management of models, under Ollama.
    ClientSetup{.name = "vscode",
                .title = "VS Code",
                .place = kVsCode,
                .language = "json",
                .text = vscode_text},
    ClientSetup{.name = "llama-vscode",
                .title = "llama.vscode",
                .place = kVsCode,
                .language = "json",
                .text = llama_vscode_text},
    ClientSetup{.name = "open-webui",
                .title = "Open WebUI",
                .place = kShell,
                .language = "sh",
                .text = open_webui_text},
    ClientSetup{.name = "ollama",
                .title = "ollama's clients",
                .place = kShell,
                .language = "sh",
                .text = ollama_text},
    ClientSetup{.name = "openai-python",
                .title = "OpenAI for Python",
                .place = "a script",
                .language = "python",
                .text = python_text},
    ClientSetup{.name = "openai-node",
                .title = "OpenAI for Node",
                .place = "a module",
                .language = "js",
                .text = node_text},
    ClientSetup{
        .name = "curl", .title = "curl", .place = kShell, .language = "sh", .text = curl_text},
    ClientSetup{.name = "embeddings-curl",
                .title = "Embeddings, curl",
                .place = kShell,
                .language = "sh",
                .for_encoders = true,
                .text = embedding_curl_text},
    ClientSetup{.name = "embeddings-python",
                .title = "Embeddings, Python",
                .place = "a script",
                .language = "python",
                .for_encoders = true,
                .text = embedding_python_text},
    ClientSetup{.name = "rerank-curl",
                .title = "Scores, curl",
                .place = kShell,
                .language = "sh",
                .for_encoders = true,
                .text = rerank_curl_text},
};

}  // namespace

std::span<const ClientSetup> client_setups() {
  return kClients;
}

const ClientSetup* find_client_setup(std::string_view name) {
  const auto* const found = std::find_if(kClients.begin(), kClients.end(),
                                         [&](const auto& one) { return one.name == name; });
  return found == kClients.end() ? nullptr : found;
}

std::string setup_text(const ClientSetup& client, const ClientTarget& target) {
  if (client.text != nullptr) return client.text(target);
  const LaunchSettings settings = client.settings(target);
  std::string line;
  for (const auto& [name, value] : settings.variables)
    line += name + "=" + shell_quoted(value) + " ";
  line += client.program;
  for (const std::string& word : settings.arguments) line += " " + shell_quoted(word);
  return line;
}

}  // namespace pippin::server
