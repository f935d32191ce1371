// The byte stream of a connection, with or without TLS.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "pippin/http/loop.h"

namespace pippin::http {

using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
using ErrorCodeOfIo = boost::system::error_code;
using Done = std::function<void(ErrorCodeOfIo)>;

// `done` is called in the server's thread, and keeps the transport alive. An operation that exceeds
// the last limit() ends with boost::beast::error::timeout; the connection stays open.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void limit(std::chrono::milliseconds time) = 0;
  virtual void handshake(Done done) = 0;
  virtual void read_head(boost::beast::flat_buffer& buffer, Parser& parser, Done done) = 0;
  virtual void read_body(boost::beast::flat_buffer& buffer, Parser& parser, Done done) = 0;
  virtual void write(asio::const_buffer bytes, Done done) = 0;
  // Reads and drops all data; only the end matters.
  virtual void discard(Done done) = 0;
  // Ends writing.
  virtual void finish(Done done) = 0;
  virtual Socket& socket() = 0;
  virtual void close() = 0;
};

std::unique_ptr<Transport> make_transport(Socket socket, std::shared_ptr<asio::ssl::context> tls);

}  // namespace pippin::http
