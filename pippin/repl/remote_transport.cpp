#include <utility>

#include "pippin/base/error.h"
#include "pippin/hub/http.h"
#include "pippin/hub/settings.h"
#include "pippin/hub/url.h"
#include "pippin/repl/transport.h"

namespace pippin::repl {
namespace {

constexpr std::string_view kUnix = "unix:";

class RemoteTransport final : public Transport {
 public:
  RemoteTransport(std::string base, std::string socket, std::string key)
      : base_(std::move(base)), socket_(std::move(socket)), key_(std::move(key)) {}

  Reply call(const std::string& path, const std::string& body, const OnBytes& on_bytes,
             const std::atomic<bool>* stop) override {
    hub::HttpClient client(hub::read_settings().certificates, stop);
    hub::HttpRequest request;
    request.url = base_ + path;
    request.unix_socket = socket_;
    request.headers = {"Accept-Encoding: identity"};
    if (!key_.empty()) request.headers.push_back("Authorization: Bearer " + key_);
    if (!body.empty()) {
      request.headers.emplace_back("Content-Type: application/json");
      request.post = body;
    }
    request.may_be_silent = true;  // reading a prompt may take minutes
    request.max_body = size_t{16} << 20;
    hub::BodySink sink;
    if (on_bytes) {
      sink = [&](const hub::HttpResponse&, ByteSpan bytes) { return on_bytes(as_text(bytes)); };
    }
    hub::HttpResponse response = client.perform(request, sink);
    if (stop != nullptr && stop->load()) return {response.status, {}};
    if (!response.failure.empty()) {
      fail(ErrorCode::Network, "{}: {}", socket_.empty() ? base_ : socket_, response.failure);
    }
    return {response.status, std::move(response.body)};
  }

 private:
  const std::string base_, socket_, key_;
};

}  // namespace

std::unique_ptr<Transport> connect(const std::string& url, const std::string& key) {
  if (url.starts_with(kUnix)) {
    return std::make_unique<RemoteTransport>("http://localhost", url.substr(kUnix.size()), key);
  }
  const auto parsed = hub::parse_url(url.find("://") == std::string::npos ? "http://" + url : url);
  if (!parsed) {
    fail(ErrorCode::InvalidArgument,
         "--url: \"{}\" is not a URL like http://127.0.0.1:8080 or unix:/run/pippin.sock", url);
  }
  std::string base = parsed->text();
  while (base.ends_with('/')) base.pop_back();
  if (base.ends_with("/v1")) base.resize(base.size() - 3);
  return std::make_unique<RemoteTransport>(std::move(base), "", key);
}

}  // namespace pippin::repl
