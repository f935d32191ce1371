#include "pippin/server/local_server.h"

#include <memory>
#include <utility>

#include "pippin/server/local_reply.h"
#include "pippin/server/routes.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;

}  // namespace

LocalServer::LocalServer(ModelListOptions options, const ResponseStoreOptions& responses)
    : models_(std::move(options)),
      forms_(24h),
      endpoints_(models_, forms_, transcriptions_, 1h, nullptr, nullptr, responses) {}

LocalServer::~LocalServer() {
  models_.stop();
}

void LocalServer::answer(const http::Request& request, const Endpoints::Replying& reply) {
  try {
    const Route* const route = find_route(request.method, request.path);
    if (route != nullptr && route->handler != nullptr) {
      (endpoints_.*route->handler)(request, reply);
    } else if (route != nullptr && route->status == Status::Models) {
      reply->send(endpoints_.models());
    } else {
      throw ApiError(404, "unknown endpoint " + request.path);
    }
  } catch (...) {
    reply->send(error_response(api_error(std::current_exception()), dialect_of(request.path)));
  }
}

http::Response LocalServer::call(const http::Request& request, const std::string& id,
                                 const OnBytes& on_bytes, const std::atomic<bool>* stop) {
  const auto reply = std::make_shared<LocalReply>(id);
  const LocalReply::Leaving leaving{*reply};
  answer(request, reply);
  return reply->receive(on_bytes, stop);
}

}  // namespace pippin::server
