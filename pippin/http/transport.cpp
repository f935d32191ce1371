#include "pippin/http/transport.h"

#include <array>
#include <utility>

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/http/read.hpp>

namespace pippin::http {
namespace {

namespace beast = boost::beast;
using Tls = asio::ssl::stream<Socket>;

template <typename Stream>
class TransportOf final : public Transport {
 public:
  template <typename... Args>
  explicit TransportOf(std::shared_ptr<asio::ssl::context> tls, Args&&... args)
      : tls_(std::move(tls)),
        stream_(std::forward<Args>(args)...),
        timer_(socket().get_executor()) {}

  TransportOf(const TransportOf&) = delete;
  TransportOf& operator=(const TransportOf&) = delete;
  ~TransportOf() override { ++*number_; }

  void limit(std::chrono::milliseconds time) override { limit_ = time; }

  void handshake(Done done) override {
    if constexpr (kHasTls) {
      stream_.async_handshake(asio::ssl::stream_base::server, timed(std::move(done)));
    } else {
      done({});
    }
  }

  void read_head(beast::flat_buffer& buffer, Parser& parser, Done done) override {
    beast::http::async_read_header(stream_, buffer, parser, timed(std::move(done)));
  }

  void read_body(beast::flat_buffer& buffer, Parser& parser, Done done) override {
    beast::http::async_read(stream_, buffer, parser, timed(std::move(done)));
  }

  void write(asio::const_buffer bytes, Done done) override {
    asio::async_write(stream_, bytes, timed(std::move(done)));
  }

  void discard(Done done) override {
    start_timer();
    discard_more(std::move(done));
  }

  void finish(Done done) override {
    if constexpr (kHasTls) {
      stream_.async_shutdown(timed(std::move(done)));
    } else {
      ErrorCodeOfIo error;
      socket().shutdown(asio::socket_base::shutdown_send, error);
      done(error);
    }
  }

  Socket& socket() override { return beast::get_lowest_layer(stream_); }

  void close() override {
    timer_.cancel();
    ErrorCodeOfIo error;
    socket().close(error);
  }

 private:
  static constexpr bool kHasTls = std::is_same_v<Stream, Tls>;

  // Cancels only the current operation, so that an answer can still be written.
  void start_timer() {
    const uint64_t number = ++*number_;
    timer_.expires_after(limit_);
    timer_.async_wait([this, number, current = number_](const ErrorCodeOfIo& error) {
      if (error || number != *current) return;
      is_late_ = true;
      ErrorCodeOfIo ignored;
      socket().cancel(ignored);
    });
  }
  ErrorCodeOfIo stop_timer(const ErrorCodeOfIo& error) {
    ++*number_;
    timer_.cancel();
    const bool is_late = std::exchange(is_late_, false);
    if (is_late && error) return beast::error::timeout;
    return error;
  }

  auto timed(Done done) {
    start_timer();
    return [this, done = std::move(done)](const ErrorCodeOfIo& error, size_t = 0) {
      done(stop_timer(error));
    };
  }

  void discard_more(Done done) {
    stream_.async_read_some(asio::buffer(rest_), [this, done = std::move(done)](
                                                     const ErrorCodeOfIo& error, size_t) mutable {
      if (error) return done(stop_timer(error));
      discard_more(std::move(done));
    });
  }

  const std::shared_ptr<asio::ssl::context> tls_;  // must outlive the stream
  Stream stream_;
  asio::steady_timer timer_;
  std::chrono::milliseconds limit_{};
  // Number of the current operation: a late timer belongs to an earlier one, or the transport is
  // gone.
  const std::shared_ptr<uint64_t> number_ = std::make_shared<uint64_t>(0);
  bool is_late_ = false;
  std::array<char, 4096> rest_;
};

}  // namespace

std::unique_ptr<Transport> make_transport(Socket socket, std::shared_ptr<asio::ssl::context> tls) {
  if (tls == nullptr) {
    return std::make_unique<TransportOf<Socket>>(nullptr, std::move(socket));
  }
  asio::ssl::context& context = *tls;
  return std::make_unique<TransportOf<Tls>>(std::move(tls), std::move(socket), context);
}

}  // namespace pippin::http
