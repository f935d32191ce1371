#include "pippin/http/transport.h"

#include <array>
#include <utility>

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

namespace pippin::http {
namespace {

namespace beast = boost::beast;
using Plain = beast::basic_stream<Protocol>;
using Tls = beast::ssl_stream<Plain>;

template <typename Stream>
class TransportOf final : public Transport {
 public:
  template <typename... Args>
  explicit TransportOf(std::shared_ptr<asio::ssl::context> tls, Args&&... args)
      : tls_(std::move(tls)), stream_(std::forward<Args>(args)...) {}

  void limit(std::chrono::milliseconds time) override { lowest().expires_after(time); }

  void handshake(Done done) override {
    if constexpr (kHasTls) {
      stream_.async_handshake(asio::ssl::stream_base::server, std::move(done));
    } else {
      done({});
    }
  }

  void read_head(beast::flat_buffer& buffer, Parser& parser, Done done) override {
    beast::http::async_read_header(stream_, buffer, parser, counted(std::move(done)));
  }

  void read_body(beast::flat_buffer& buffer, Parser& parser, Done done) override {
    beast::http::async_read(stream_, buffer, parser, counted(std::move(done)));
  }

  void write(asio::const_buffer bytes, Done done) override {
    asio::async_write(stream_, bytes, counted(std::move(done)));
  }

  void discard(Done done) override {
    stream_.async_read_some(asio::buffer(rest_), [this, done = std::move(done)](
                                                     const ErrorCodeOfIo& error, size_t) mutable {
      if (error) return done(error);
      discard(std::move(done));
    });
  }

  void finish(Done done) override {
    if constexpr (kHasTls) {
      stream_.async_shutdown(std::move(done));
    } else {
      ErrorCodeOfIo error;
      stream_.socket().shutdown(asio::socket_base::shutdown_send, error);
      done(error);
    }
  }

  Socket& socket() override { return lowest().socket(); }

  void close() override {
    ErrorCodeOfIo error;
    socket().close(error);
  }

 private:
  static constexpr bool kHasTls = std::is_same_v<Stream, Tls>;

  Plain& lowest() { return beast::get_lowest_layer(stream_); }

  static auto counted(Done done) {
    return [done = std::move(done)](const ErrorCodeOfIo& error, size_t) { done(error); };
  }

  const std::shared_ptr<asio::ssl::context> tls_;  // as long as the stream
  Stream stream_;
  std::array<char, 4096> rest_;
};

}  // namespace

std::unique_ptr<Transport> make_transport(Socket socket, std::shared_ptr<asio::ssl::context> tls) {
  if (tls == nullptr) {
    return std::make_unique<TransportOf<Plain>>(nullptr, std::move(socket));
  }
  asio::ssl::context& context = *tls;
  return std::make_unique<TransportOf<Tls>>(std::move(tls), std::move(socket), context);
}

}  // namespace pippin::http
