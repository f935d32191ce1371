#include <boost/asio/ssl/context.hpp>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/http/loop.h"

namespace pippin::http {
namespace {

constexpr size_t kMaxPemBytes = size_t{1} << 20;

[[noreturn]] void refuse(const std::string& file, std::string_view what,
                         const boost::system::error_code& error) {
  fail(ErrorCode::InvalidFile, "{}: not {} in PEM: {}", file, what, error.message());
}

}  // namespace

std::shared_ptr<asio::ssl::context> make_tls(const ServerOptions& options) {
  using asio::ssl::context;
  auto tls = std::make_shared<context>(context::tls_server);
  tls->set_options(context::default_workarounds | context::no_sslv2 | context::no_sslv3 |
                   context::no_tlsv1 | context::no_tlsv1_1);
  const std::string certificate = read_file(options.certificate_file, kMaxPemBytes);
  const std::string key = read_file(options.key_file, kMaxPemBytes);
  boost::system::error_code error;
  tls->use_certificate_chain(asio::buffer(certificate), error);
  if (error) refuse(options.certificate_file, "a certificate", error);
  // Without this callback, OpenSSL prompts at the terminal.
  tls->set_password_callback([](size_t, context::password_purpose) { return std::string(); });
  tls->use_private_key(asio::buffer(key), context::pem, error);
  if (error) refuse(options.key_file, "the certificate's key (without a password)", error);
  return tls;
}

}  // namespace pippin::http
