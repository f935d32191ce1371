#include "pippin/hub/authorities.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {
    "etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Gentoo, Alpine
    "etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, Red Hat
    "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Red Hat, without the old links
    "etc/ssl/ca-bundle.pem",                             // openSUSE
    "var/lib/ca-certificates/ca-bundle.pem",             // openSUSE, without that link
    "etc/ssl/cert.pem",                                  // Alpine without ca-certificates, BSD
};

}  // namespace

std::string other_certificates(const char* built_in, const fs::path& root) {
  std::error_code ignored;
  if (built_in == nullptr || fs::exists(root / fs::path(built_in).relative_path(), ignored)) {
    return "";
  }
  for (const char* name : kFiles) {
    fs::path file = root / name;
    if (fs::is_regular_file(file, ignored)) return file.string();
  }
  return "";
}

}  // namespace pippin::hub
