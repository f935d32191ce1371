#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/repl/transport.h"
#include "pippin/server/local_server.h"

namespace pippin::repl {
namespace {

class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(server::ModelListOptions options) : server_(std::move(options)) {
    try {
      server_.models().get("");
    } catch (const server::ApiError& error) {
      check_cancel();
      fail(ErrorCode::InvalidFile, "{}", error.what());
    }
  }

  Reply call(const std::string& path, const std::string& body, const OnBytes& on_bytes,
             const std::atomic<bool>* stop) override {
    http::Request request;
    if (!http::split_target(path, request)) {
      fail(ErrorCode::InvalidArgument, "{}: no path of a request", path);
    }
    request.method = body.empty() ? "GET" : "POST";
    request.body = body;
    http::Response response = server_.call(request, "chat", on_bytes, stop);
    return {response.status, std::move(response.body)};
  }

 private:
  server::LocalServer server_;
};

}  // namespace

std::unique_ptr<Transport> serve_here(server::ModelListOptions options) {
  return std::make_unique<LocalTransport>(std::move(options));
}

}  // namespace pippin::repl
