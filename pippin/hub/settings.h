// Where the cache lies, which server is asked and as whom: huggingface_hub's environment variables,
// so that settings made for Python apply here too.
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
  std::string token;         // empty: none is sent
  std::string token_source;  // "HF_TOKEN" or the file that it was read from, for messages
  bool offline = false;
  std::chrono::seconds etag_timeout{10};      // for answers of the API
  std::chrono::seconds download_timeout{10};  // without a byte
  int retries = 6;                            // of one request in a row without progress
  std::string certificates;                   // file or folder instead of curl's own; empty: curl's
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME; HF_ENDPOINT; HF_TOKEN,
// HUGGING_FACE_HUB_TOKEN, HF_TOKEN_PATH, HF_HUB_DISABLE_IMPLICIT_TOKEN; HF_HUB_OFFLINE,
// TRANSFORMERS_OFFLINE; HF_HUB_ETAG_TIMEOUT, HF_HUB_DOWNLOAD_TIMEOUT; PIPPIN_HUB_RETRIES;
// CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR. Throws InvalidArgument for a
// value that cannot be.
Settings read_settings(const Environment& environment);
// The process's own environment.
Settings read_settings();

// Without what surrounds it. Throws InvalidArgument where it cannot be part of a header.
std::string clean_token(std::string_view token, const std::string& source);

}  // namespace pippin::hub
