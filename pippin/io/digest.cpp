#include "pippin/io/digest.h"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "pippin/base/error.h"

namespace pippin {

struct Digest::Context {
  explicit Context(const EVP_MD* kind) : context(EVP_MD_CTX_new()) {
    if (context == nullptr || EVP_DigestInit_ex(context, kind, nullptr) != 1) {
      EVP_MD_CTX_free(context);
      fail(ErrorCode::Internal, "OpenSSL has no {}", EVP_MD_get0_name(kind));
    }
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(context); }

  EVP_MD_CTX* context;
};

Digest::Digest(std::unique_ptr<Context> context) : context_(std::move(context)) {}
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest::~Digest() = default;

Digest Digest::sha256() {
  return Digest(std::make_unique<Context>(EVP_sha256()));
}

Digest Digest::git_blob(uint64_t size) {
  Digest digest(std::make_unique<Context>(EVP_sha1()));
  std::string header = fmt::format("blob {}", size);
  header += '\0';
  digest.update(as_byte_span(header));
  return digest;
}

void Digest::update(ByteSpan bytes) {
  if (EVP_DigestUpdate(context_->context, bytes.data(), bytes.size()) != 1) {
    fail(ErrorCode::Internal, "OpenSSL cannot hash");
  }
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned int count = 0;
  if (EVP_DigestFinal_ex(context_->context, bytes.data(), &count) != 1) {
    fail(ErrorCode::Internal, "OpenSSL cannot hash");
  }
  std::string text;
  for (unsigned int i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace pippin
