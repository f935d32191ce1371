#include "pippin/hub/settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

bool is_true(const std::optional<std::string>& value) {
  if (!value) return false;
  std::string upper = *value;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper == "1" || upper == "ON" || upper == "YES" || upper == "TRUE";
}

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Expands "~/x", "$NAME" and "${NAME}" as Python's expanduser and expandvars do.
fs::path expand(const std::string& text, const Environment& environment) {
  std::string out;
  size_t i = 0;
  if (text == "~" || text.starts_with("~/")) {
    out = environment("HOME").value_or("~");
    i = 1;
  }
  while (i < text.size()) {
    if (text[i] != '$') {
      out += text[i++];
      continue;
    }
    const bool braced = i + 1 < text.size() && text[i + 1] == '{';
    const size_t begin = i + (braced ? 2 : 1);
    size_t end = begin;
    while (end < text.size() && is_word_char(text[end])) ++end;
    const bool closed = !braced || (end < text.size() && text[end] == '}');
    const auto value =
        end > begin && closed ? environment(text.substr(begin, end - begin).c_str()) : std::nullopt;
    const size_t next = end + (braced && closed ? 1 : 0);
    out += value ? *value : text.substr(i, next - i);
    i = next;
  }
  return out;
}

// Uses the variable if it is set, even to an empty string, as os.getenv does.
fs::path path_of(const Environment& environment, const char* name, const fs::path& fallback) {
  const auto value = environment(name);
  return value ? expand(*value, environment) : fallback;
}

int number_of(const Environment& environment, const char* name, int fallback, int most) {
  const auto value = environment(name);
  if (!value || value->empty()) return fallback;
  int number = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (error != std::errc() || end != value->data() + value->size() || number < 0 || number > most) {
    fail(ErrorCode::InvalidArgument, "{}: \"{}\" is not a number from 0 to {}", name, *value, most);
  }
  return number;
}

std::chrono::seconds timeout_of(const Environment& environment, const char* name) {
  constexpr int kNormal = 10;
  const int seconds = number_of(environment, name, kNormal, 86400);
  return std::chrono::seconds(seconds == 0 ? kNormal : seconds);  // like Python's `or`
}

void read_token(const Environment& environment, const fs::path& home, Settings& settings) {
  if (is_true(environment("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return;
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    const auto value = environment(name);
    if (!value) continue;
    settings.token = clean_token(*value, name);
    settings.token_source = name;
    if (!settings.token.empty()) return;
  }
  const fs::path file = path_of(environment, "HF_TOKEN_PATH", home / "token");
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return;
  settings.token = clean_token(read_file(file, 65536), file.string());
  settings.token_source = file.string();
}

}  // namespace

std::string clean_token(std::string_view token, const std::string& source) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!token.empty() && is_space(token.front())) token.remove_prefix(1);
  while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
  const bool printable =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!printable) fail(ErrorCode::InvalidArgument, "{}: this is not a token of the Hub", source);
  return std::string(token);
}

Settings read_settings(const Environment& environment) {
  Settings settings;
  const fs::path user_cache =
      path_of(environment, "XDG_CACHE_HOME", expand("~/.cache", environment));
  const fs::path home = path_of(environment, "HF_HOME", user_cache / "huggingface");
  settings.cache = path_of(environment, "HUGGINGFACE_HUB_CACHE", home / "hub");
  settings.cache = path_of(environment, "HF_HUB_CACHE", settings.cache);
  if (const auto endpoint = environment("HF_ENDPOINT"); endpoint && !endpoint->empty()) {
    settings.endpoint = *endpoint;
    while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  }
  read_token(environment, home, settings);
  const auto offline = environment("HF_HUB_OFFLINE");
  settings.offline =
      is_true(offline && !offline->empty() ? offline : environment("TRANSFORMERS_OFFLINE"));
  settings.etag_timeout = timeout_of(environment, "HF_HUB_ETAG_TIMEOUT");
  settings.download_timeout = timeout_of(environment, "HF_HUB_DOWNLOAD_TIMEOUT");
  settings.retries = number_of(environment, "PIPPIN_HUB_RETRIES", settings.retries, 1000);
  for (const char* name :
       {"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    const auto value = environment(name);
    if (settings.certificates.empty() && value) settings.certificates = *value;
  }
  return settings;
}

Settings read_settings() {
  return read_settings([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

}  // namespace pippin::hub
