#include "pippin/hub/authorities.h"

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDebian = "/etc/ssl/certs/ca-certificates.crt";

fs::path add(const fs::path& root, const std::string& name) {
  const fs::path file = root / name;
  fs::create_directories(file.parent_path());
  write_file(file, "certificates");
  return file;
}

TEST(Authorities, ALibcurlThatFindsItsFileIsLeftAlone) {
  const TempDir root;
  add(root.path(), "etc/ssl/certs/ca-certificates.crt");
  add(root.path(), "etc/pki/tls/certs/ca-bundle.crt");
  EXPECT_EQ(other_certificates(kDebian, root.path()), "");
}

TEST(Authorities, ALibcurlWithoutAFileIsLeftAlone) {
  const TempDir root;
  add(root.path(), "etc/pki/tls/certs/ca-bundle.crt");
  EXPECT_EQ(other_certificates(nullptr, root.path()), "");
}

TEST(Authorities, OtherDistributionsFilesAreFound) {
  for (const char* name :
       {"etc/pki/tls/certs/ca-bundle.crt", "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "etc/ssl/ca-bundle.pem", "etc/ssl/cert.pem"}) {
    const TempDir root;
    const fs::path file = add(root.path(), name);
    EXPECT_EQ(other_certificates(kDebian, root.path()), file.string());
  }
}

TEST(Authorities, ALinkCountsWhereItLeadsToAFile) {
  const TempDir root;
  fs::create_directories(root / "etc/pki/tls/certs");
  fs::create_directories(root / "etc/ssl");
  fs::create_symlink("/no/such/file", root / "etc/pki/tls/certs/ca-bundle.crt");
  fs::create_symlink(add(root.path(), "real.pem"), root / "etc/ssl/ca-bundle.pem");
  EXPECT_EQ(other_certificates(kDebian, root.path()), (root / "etc/ssl/ca-bundle.pem").string());
}

TEST(Authorities, ASystemWithoutAnyIsLeftToLibcurl) {
  EXPECT_EQ(other_certificates(kDebian, TempDir().path()), "");
}

}  // namespace
}  // namespace pippin::hub
