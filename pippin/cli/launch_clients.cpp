#include "pippin/cli/launch_clients.h"

#include <algorithm>
#include <array>

#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

// Agents refuse to start without a key.
std::string key_of(const LaunchTarget& target) {
  return target.key.empty() ? "pippin" : target.key;
}

LaunchSettings claude_settings(const LaunchTarget& target) {
  LaunchSettings settings;
  settings.variables = {
      {"ANTHROPIC_BASE_URL", target.url},
      {"ANTHROPIC_AUTH_TOKEN", key_of(target)},
      {"ANTHROPIC_API_KEY", ""},  // one of another server's would come before the token
      // All its kinds of models are this one.
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

// As TOML, which has the same strings.
std::string quoted(const std::string& text) {
  JsonWriter json;
  return json.value(text).text();
}

LaunchSettings codex_settings(const LaunchTarget& target) {
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

LaunchSettings opencode_settings(const LaunchTarget& target) {
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

constexpr std::array kClients = {
    LaunchClient{"claude", "Claude Code", "claude", "npm install -g @anthropic-ai/claude-code",
                 claude_settings},
    LaunchClient{"codex", "Codex", "codex", "npm install -g @openai/codex", codex_settings},
    LaunchClient{"opencode", "opencode", "opencode", "npm install -g opencode-ai",
                 opencode_settings},
};

}  // namespace

std::span<const LaunchClient> launch_clients() {
  return kClients;
}

const LaunchClient* find_launch_client(std::string_view name) {
  const auto* const found = std::find_if(kClients.begin(), kClients.end(),
                                         [&](const auto& one) { return one.name == name; });
  return found == kClients.end() ? nullptr : found;
}

}  // namespace pippin::cli
