// How a chat reaches the server that answers it: over HTTP, or within this process. Both understand
// the requests of docs/serve.md.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "pippin/server/model_list.h"

namespace pippin::repl {

// The answer's bytes as they come. False ends it.
using OnBytes = std::function<bool(std::string_view bytes)>;

struct Reply {
  int status = 0;
  std::string body;  // where nobody took it: no OnBytes, or another status than 200
};

// Any thread.
class Transport {
 public:
  virtual ~Transport() = default;

  // Waits for the end of the answer, which comes soon after `stop` (which may be null) is set.
  // `body` empty: a GET. Throws Network; Cancelled, if the calling thread is.
  virtual Reply call(const std::string& path, const std::string& body, const OnBytes& on_bytes = {},
                     const std::atomic<bool>* stop = nullptr) = 0;
};

// A server at "http://host:8080", "https://host/prefix" or "unix:/path", with or without "/v1".
// Throws InvalidArgument for what is none of these.
std::unique_ptr<Transport> connect(const std::string& url, const std::string& key);

// The models of a list, served to this process alone. Loads the first one. Throws what is wrong
// with it.
std::unique_ptr<Transport> serve_here(server::ModelListOptions options);

}  // namespace pippin::repl
