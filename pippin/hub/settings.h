// Settings for the cache, the server and authentication, from huggingface_hub's environment
// variables, so that settings made for Python apply here too.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace pippin::hub {

struct Settings {
  std::filesystem::path cache;  // holds models--org--name
  std::string endpoint = "https://huggingface.co";
  std::string token;         // empty: no token is sent
  std::string token_source;  // for messages: "HF_TOKEN", or the file that it was read from
  bool offline = false;
  std::chrono::seconds etag_timeout{10};      // for answers of the API
  std::chrono::seconds download_timeout{10};  // between bytes
  int retries = 6;                            // of one request, consecutive and without progress
  std::string certificates;                   // file or folder that replaces curl's own; empty:
                                              // curl's
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// Reads HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME; HF_ENDPOINT; HF_TOKEN,
// HUGGING_FACE_HUB_TOKEN, HF_TOKEN_PATH, HF_HUB_DISABLE_IMPLICIT_TOKEN; HF_HUB_OFFLINE,
// TRANSFORMERS_OFFLINE; HF_HUB_ETAG_TIMEOUT, HF_HUB_DOWNLOAD_TIMEOUT; PIPPIN_HUB_RETRIES;
// CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR. Throws InvalidArgument for an
// invalid value.
Settings read_settings(const Environment& environment);
// Reads the process's own environment.
Settings read_settings();

// Strips surrounding whitespace. Throws InvalidArgument if the token cannot be part of a header.
std::string clean_token(std::string_view token, const std::string& source);

}  // namespace pippin::hub
