// Connects a chat to a server, over HTTP or within this process. Both accept the requests of
// docs/serve.md.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "pippin/server/model_list.h"

namespace pippin::repl {

// Receives the answer's bytes as they arrive. Returning false ends it.
using OnBytes = std::function<bool(std::string_view bytes)>;

struct Reply {
  int status = 0;
  std::string body;  // unless OnBytes received it: without OnBytes, or with a status other than 200
};

// Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  // Returns at the end of the answer, which comes soon after `stop` (may be null) is set. An empty
  // `body` means GET. Throws Network; Cancelled if the calling thread is cancelled.
  virtual Reply call(const std::string& path, const std::string& body, const OnBytes& on_bytes = {},
                     const std::atomic<bool>* stop = nullptr) = 0;
};

// Connects to "http://host:8080", "https://host/prefix" or "unix:/path", with or without "/v1".
// Throws InvalidArgument for other URLs.
std::unique_ptr<Transport> connect(const std::string& url, const std::string& key);

// Serves the models of a list to this process only. Loads the first one, and throws its errors.
std::unique_ptr<Transport> serve_here(server::ModelListOptions options);

}  // namespace pippin::repl
