#include "pippin/http/connection.h"

#include <ctime>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>
#include <poll.h>

namespace pippin::http {
namespace {

using namespace std::chrono_literals;
namespace beast = boost::beast;

constexpr size_t kWriteBytes = size_t{64} << 10;  // per write; the time-out restarts with each
constexpr auto kLookAgain = 50ms;
constexpr auto kLinger = 2s;
constexpr uint64_t kAnyBody = uint64_t{1} << 62;
constexpr std::string_view kTooMany = "too many connections";

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                     kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                     parts.tm_sec);
}

// The state of the peer's end of the connection.
enum class Peer { Talks, Finished, Gone };

Peer look_at(int descriptor) {
  pollfd state{.fd = descriptor, .events = POLLIN, .revents = 0};
#ifdef POLLRDHUP
  state.events |= POLLRDHUP;
#endif
  if (::poll(&state, 1, 0) <= 0) return Peer::Talks;
  if ((state.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return Peer::Gone;
#ifdef POLLRDHUP
  return (state.revents & POLLRDHUP) != 0 ? Peer::Finished : Peer::Talks;
#else
  char byte = 0;
  return ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0 ? Peer::Finished : Peer::Talks;
#endif
}

// A chunk of RFC 9112 section 7.1.
void append_chunk(std::string& out, std::string_view piece) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", piece.size());
  out += piece;
  out += "\r\n";
}

// A line must not end within a field.
void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  out += "\r\n";
}

// RFC 9110 sections 15.3.5 and 15.4.5.
bool has_content(const Response& response) {
  return response.status != 204 && response.status != 304;
}

}  // namespace

// The reply to a request, usable in any thread; the server's thread does the work.
class Connection::Answer final : public Reply {
 public:
  Answer(std::shared_ptr<Shared> shared, std::shared_ptr<Connection> connection, uint64_t number,
         std::shared_ptr<std::atomic<bool>> is_gone)
      : shared_(std::move(shared)),
        connection_(std::move(connection)),
        number_(number),
        is_gone_(std::move(is_gone)) {}
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  // The connection is released in the server's thread, which owns its list.
  ~Answer() override {
    asio::post(shared_->io, [connection = std::move(connection_), number = number_] {
      connection->abandon(number);
    });
  }

  void send(Response response) override {
    post([response = std::move(response)](Connection& connection, uint64_t number) mutable {
      connection.send(number, std::move(response));
    });
  }
  void begin(const Response& head, std::string comment,
             std::chrono::milliseconds silence) override {
    post([head, comment = std::move(comment), silence](Connection& connection, uint64_t number) {
      connection.begin(number, head, comment, silence);
    });
  }
  void write(std::string piece) override {
    if (is_gone()) return;
    post([piece = std::move(piece)](Connection& connection, uint64_t number) {
      connection.write(number, piece);
    });
  }
  void end() override {
    post([](Connection& connection, uint64_t number) { connection.end(number); });
  }
  bool is_gone() const override { return is_gone_->load(std::memory_order_relaxed); }
  void when_gone(std::function<void()> action) override {
    post([action = std::move(action), is_gone = is_gone_](Connection& connection,
                                                          uint64_t number) mutable {
      if (connection.current_ == number) {
        connection.when_gone_ = std::move(action);
      } else if (is_gone->load()) {
        action();
      }
    });
  }

 private:
  template <typename Action>
  void post(Action action) {
    asio::post(shared_->io,
               [connection = connection_, number = number_, action = std::move(action)]() mutable {
                 action(*connection, number);
               });
  }

  const std::shared_ptr<Shared> shared_;
  std::shared_ptr<Connection> connection_;
  const uint64_t number_;
  const std::shared_ptr<std::atomic<bool>> is_gone_;
};

Connection::Connection(Shared& shared, Socket socket)
    : shared_(shared),
      transport_(make_transport(std::move(socket), shared_.tls)),
      is_late_(shared.is_stopping),
      look_timer_(shared_.io),
      silence_timer_(shared_.io) {
  boost::system::error_code error;
  const auto peer = transport_->socket().remote_endpoint(error);
  if (const auto endpoint = error ? std::nullopt : tcp_endpoint(peer)) {
    const auto address = plain_address(endpoint->address());
    peer_ = fmt::format("{}:{}", address.to_string(), endpoint->port());
    if (address.is_loopback()) place_ = PeerPlace::Loopback;
    transport_->socket().set_option(asio::ip::tcp::no_delay(true), error);
  } else if (!error && peer.protocol().family() == AF_UNIX) {
    peer_ = "unix";
    place_ = PeerPlace::UnixSocket;
  }
  shared_.connections.insert(this);
  ++shared_.num_connections;
}

Connection::~Connection() {
  if (!is_closed_) forget();
}

void Connection::forget() {
  shared_.connections.erase(this);
  --shared_.num_connections;
}

void Connection::start(bool is_above_limit) {
  is_above_limit_ = is_above_limit;
  transport_->limit(shared_.options.read_timeout);
  transport_->handshake([self = shared_from_this()](const ErrorCodeOfIo& error) {
    if (error) return self->drop_connection();
    self->read_request();
  });
}

void Connection::read_request() {
  if (shared_.is_stopping && !is_late_) return linger();
  request_.reset();
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(shared_.options.max_header_bytes));
  parser_->body_limit(kAnyBody);  // until the head is known
  body_limit_ = shared_.options.max_body_bytes;
  limit_reading();
  transport_->read_head(buffer_, *parser_, [self = shared_from_this()](const ErrorCodeOfIo& error) {
    self->on_head(error);
  });
}

void Connection::on_head(const ErrorCodeOfIo& error) {
  if (is_closed_) return;
  if (error) return refuse(error);
  if (!fill_request()) return refuse(400, "the request target is not a path");
  if (auto refusal = shared_.callbacks.check(*request_)) return answer_and_close(*refusal);
  // A page asks first whether it may send (CORS), and cannot read a rejection of that.
  if (is_above_limit_ && request_->method != "OPTIONS") return refuse(503, kTooMany);
  if (!limit_body()) return refuse(beast::http::make_error_code(beast::http::error::body_limit));
  if (parser_->get()[beast::http::field::expect].empty() || parser_->is_done()) return read_body();
  is_writing_ = true;
  out_ = "HTTP/1.1 100 Continue\r\n\r\n";
  transport_->write(asio::buffer(out_), [self = shared_from_this()](const ErrorCodeOfIo& failure) {
    self->is_writing_ = false;
    self->out_.clear();
    if (failure) return self->drop_connection();
    self->read_body();
  });
}

bool Connection::fill_request() {
  request_ = std::make_shared<Request>();
  request_->number = ++shared_.num_requests;
  request_->peer = peer_;
  request_->place = place_;
  request_->is_encrypted = shared_.tls != nullptr;
  const auto& message = parser_->get();
  request_->method = std::string(message.method_string());
  for (const auto& field : message) {
    request_->headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  const auto target = message.target();
  return split_target({target.data(), target.size()}, *request_);
}

// Returns false for a body that is known to be too large.
bool Connection::limit_body() {
  body_limit_ = shared_.callbacks.body_limit ? shared_.callbacks.body_limit(*request_)
                                             : shared_.options.max_body_bytes;
  parser_->body_limit(body_limit_);
  return parser_->content_length().value_or(0) <= body_limit_;
}

// A client that is rejected anyway must not occupy the server for long.
void Connection::limit_reading() {
  transport_->limit(is_above_limit_ || is_late_ ? kLinger : shared_.options.read_timeout);
}

void Connection::read_body() {
  limit_reading();
  transport_->read_body(buffer_, *parser_, [self = shared_from_this()](const ErrorCodeOfIo& error) {
    self->on_body(error);
  });
}

void Connection::on_body(const ErrorCodeOfIo& error) {
  if (is_closed_) return;
  if (error) return refuse(error);
  request_->body = std::move(parser_->get().body());
  current_ = request_->number;
  has_begun_ = has_ended_ = is_chunked_ = is_half_closed_ = false;
  comment_.clear();
  keeps_alive_ = parser_->get().keep_alive() && !is_above_limit_;
  is_gone_ = std::make_shared<std::atomic<bool>>(false);
  watch();
  const auto reply =
      std::make_shared<Answer>(shared_.shared_from_this(), shared_from_this(), current_, is_gone_);
  shared_.callbacks.handle(request_, reply);
}

// Answers an invalid request if the client can still read the answer.
void Connection::refuse(const ErrorCodeOfIo& error) {
  using Fault = beast::http::error;
  if (error == Fault::header_limit) {
    return refuse(431, fmt::format("the header of the request has more than {} bytes",
                                   shared_.options.max_header_bytes));
  }
  if (error == Fault::body_limit) {
    return refuse(413, fmt::format("the body of the request has more than {} bytes", body_limit_));
  }
  if (error == beast::error::timeout) {
    if (is_above_limit_) return refuse(503, kTooMany);
    if (buffer_.size() == 0 && !parser_->got_some()) return drop_connection();
    return refuse(408, fmt::format("the request was not complete after {} s",
                                   shared_.options.read_timeout.count() / 1000));
  }
  if (error == Fault::end_of_stream || error == Fault::partial_message ||
      error.category() != beast::http::make_error_code(Fault::bad_version).category()) {
    return drop_connection();
  }
  refuse(error == Fault::bad_version ? 505 : 400,
         fmt::format("the request is not HTTP/1.1: {}", error.message()));
}

void Connection::refuse(int status, std::string_view message) {
  answer_and_close(shared_.callbacks.refuse(known_head(), status, message));
}

// If the parser failed, the fields before the fault are in its message, and the rest is in the
// buffer.
const Request& Connection::known_head() {
  if (request_ == nullptr) {
    fill_request();
    const auto rest = buffer_.cdata();
    for (auto& field : fields_in({static_cast<const char*>(rest.data()), rest.size()})) {
      request_->headers.push_back(std::move(field));
    }
  }
  return *request_;
}

void Connection::answer_and_close(const Response& response) {
  current_ = 0;
  keeps_alive_ = false;
  has_ended_ = true;
  queue(head_of(response, fmt::format("content-length: {}\r\n", response.body.size())) +
        response.body);
}

void Connection::stop() {
  if (current_ == 0 && !is_writing_ && queue_.empty()) drop_connection();
}

void Connection::drop_connection() {
  if (is_closed_) return;
  is_closed_ = true;
  forget();
  look_timer_.cancel();
  silence_timer_.cancel();
  transport_->close();
  if (current_ == 0) return;
  is_gone_->store(true);
  current_ = 0;
  if (const auto action = std::exchange(when_gone_, {})) action();
}

std::string Connection::head_of(const Response& response, const std::string& framing) const {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  append_field(head, "date", http_date());
  append_field(head, "server", "pippin");
  append_field(head, "connection", keeps_alive_ ? "keep-alive" : "close");
  if (has_content(response)) append_field(head, "content-type", response.content_type);
  for (const auto& [name, value] : response.headers) append_field(head, name, value);
  return head + framing + "\r\n";
}

void Connection::send(uint64_t number, Response response) {
  if (number != current_ || has_begun_) return;
  has_begun_ = has_ended_ = true;
  keeps_alive_ = keeps_alive_ && !shared_.is_stopping;
  std::string bytes = head_of(
      response, has_content(response) ? fmt::format("content-length: {}\r\n", response.body.size())
                                      : std::string());
  if (request_->method != "HEAD") bytes += response.body;
  queue(std::move(bytes));
}

void Connection::begin(uint64_t number, const Response& head, std::string comment,
                       std::chrono::milliseconds silence) {
  if (number != current_ || has_begun_) return;
  has_begun_ = true;
  is_chunked_ = parser_->get().version() >= 11;  // before HTTP/1.1, a body ends with its connection
  keeps_alive_ = keeps_alive_ && is_chunked_ && !shared_.is_stopping;
  comment_ = std::move(comment);
  silence_ = silence;
  queue(head_of(head, is_chunked_ ? "transfer-encoding: chunked\r\n" : ""));
  write(number, head.body);
  break_silence();
}

void Connection::write(uint64_t number, std::string_view piece) {
  if (number != current_ || !has_begun_ || has_ended_ || piece.empty()) return;
  std::string bytes;
  if (is_chunked_) {
    append_chunk(bytes, piece);
  } else {
    bytes = piece;
  }
  queue(std::move(bytes));
}

void Connection::end(uint64_t number) {
  if (number != current_ || !has_begun_ || has_ended_) return;
  has_ended_ = true;
  silence_timer_.cancel();
  queue(is_chunked_ ? "0\r\n\r\n" : "");
}

void Connection::abandon(uint64_t number) {
  if (number != current_ || has_ended_) return;
  if (has_begun_) return drop_connection();  // a body without an end marks it as truncated
  send(number, shared_.callbacks.refuse(*request_, 500, "the request was not answered"));
}

void Connection::queue(std::string bytes) {
  if (is_closed_) return;
  last_write_ = std::chrono::steady_clock::now();
  queued_bytes_ += bytes.size();
  queue_.push_back(std::move(bytes));
  // A complete answer may have any size; a stream is cut if the client does not read it.
  if (!has_ended_ && queued_bytes_ > shared_.options.max_unread_bytes) return drop_connection();
  pump();
}

void Connection::pump() {
  if (is_writing_ || is_closed_) return;
  if (num_written_ == out_.size()) {
    num_written_ = 0;
    out_.clear();
    while (!queue_.empty() && out_.size() < kWriteBytes) {
      if (out_.empty()) {
        out_ = std::move(queue_.front());  // may be large
      } else {
        out_ += queue_.front();
      }
      queue_.pop_front();
    }
    queued_bytes_ -= out_.size();
  }
  if (out_.empty()) {
    if (has_ended_) finish_answer();
    return;
  }
  is_writing_ = true;
  transport_->limit(shared_.options.write_timeout);
  const size_t size = std::min(out_.size() - num_written_, kWriteBytes);
  transport_->write(asio::buffer(out_.data() + num_written_, size),
                    [self = shared_from_this(), size](const ErrorCodeOfIo& error) {
                      self->num_written_ += size;
                      self->on_written(error);
                    });
}

void Connection::on_written(const ErrorCodeOfIo& error) {
  is_writing_ = false;
  if (is_closed_) return;
  if (error) return drop_connection();
  pump();
}

void Connection::finish_answer() {
  has_ended_ = false;
  current_ = 0;
  when_gone_ = {};
  look_timer_.cancel();
  silence_timer_.cancel();
  boost::system::error_code ignored;
  transport_->socket().cancel(ignored);
  if (!keeps_alive_ || is_half_closed_) return linger();
  read_request();
}

// If the socket closed at once, a client that is still sending would lose the answer (RFC 9112
// section 9.6).
void Connection::linger() {
  transport_->limit(kLinger);
  transport_->finish([self = shared_from_this()](const ErrorCodeOfIo& error) {
    if (error) return self->drop_connection();
    self->transport_->limit(kLinger);
    self->transport_->discard([self](const ErrorCodeOfIo&) { self->drop_connection(); });
  });
}

// Detects a client that leaves while nothing is written.
void Connection::watch() {
  transport_->socket().async_wait(Socket::wait_read, [self = shared_from_this(), number = current_](
                                                         const ErrorCodeOfIo& error) {
    if (!error) self->look(number);
  });
}

void Connection::look(uint64_t number) {
  if (number != current_ || is_closed_) return;
  const Peer peer = look_at(transport_->socket().native_handle());
  if (peer == Peer::Gone) return drop_connection();
  if (peer == Peer::Finished && has_ended_) {
    is_half_closed_ = true;  // only writing is left
  } else if (peer == Peer::Finished && !is_half_closed_) {
    // The client may have closed only its sending half. A client that has left resets the
    // connection on a write, so a line that every client ignores distinguishes the two.
    const bool may_have_interim = parser_->get().version() >= 11 && !request_->is_encrypted;
    if (has_begun_ ? comment_.empty() : !may_have_interim) return drop_connection();
    is_half_closed_ = true;
    if (has_begun_) {
      write(number, comment_);
    } else {
      queue("HTTP/1.1 102 Processing\r\n\r\n");
    }
  }
  look_later(number);
}

void Connection::look_later(uint64_t number) {
  look_timer_.expires_after(kLookAgain);
  look_timer_.async_wait([self = shared_from_this(), number](const ErrorCodeOfIo& error) {
    if (!error) self->look(number);
  });
}

void Connection::break_silence() {
  if (comment_.empty() || has_ended_ || is_closed_) return;
  const auto due = last_write_ + silence_;
  if (std::chrono::steady_clock::now() >= due) {
    write(current_, comment_);
    return break_silence();
  }
  silence_timer_.expires_at(due);
  silence_timer_.async_wait(
      [self = shared_from_this(), number = current_](const ErrorCodeOfIo& error) {
        if (!error && number == self->current_) self->break_silence();
      });
}

}  // namespace pippin::http
