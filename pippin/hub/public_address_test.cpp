#include "pippin/hub/public_address.h"

#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace pippin::hub {
namespace {

sockaddr_storage address_of(const std::string& text) {
  sockaddr_storage storage{};
  if (text.find(':') == std::string::npos) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, text.c_str(), &v4.sin_addr), 1) << text;
    std::memcpy(&storage, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr), 1) << text;
    std::memcpy(&storage, &v6, sizeof v6);
  }
  return storage;
}

bool is_public(const std::string& text) {
  const sockaddr_storage storage = address_of(text);
  return is_public_address(reinterpret_cast<const sockaddr&>(storage));
}

TEST(PublicAddress, OfTheInternet) {
  for (const char* text :
       {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
        "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00::1",
        "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"}) {
    EXPECT_TRUE(is_public(text)) << text;
  }
}

TEST(PublicAddress, NotOfPrivateNetworks) {
  for (const char* text : {"0.0.0.0",
                           "10.1.2.3",
                           "100.64.0.1",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.255",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.8",
                           "192.168.0.1",
                           "198.19.255.255",
                           "224.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::127.0.0.1",
                           "::ffff:127.0.0.1",
                           "::ffff:169.254.169.254",
                           "64:ff9b::a00:1",
                           "2002:7f00:1::1",
                           "fc00::1",
                           "fd12::1",
                           "fe80::1",
                           "ff02::1",
                           "2001:db8::1",
                           "2001::1",
                           "3fff::1"}) {
    EXPECT_FALSE(is_public(text)) << text;
  }
  sockaddr other{};
  other.sa_family = AF_UNIX;
  EXPECT_FALSE(is_public_address(other));
}

TEST(PublicAddress, HasItsUsualNotation) {
  for (const char* text : {"192.168.0.1", "2001:db8::1"}) {
    const sockaddr_storage storage = address_of(text);
    EXPECT_EQ(address_text(reinterpret_cast<const sockaddr&>(storage)), text);
  }
}

}  // namespace
}  // namespace pippin::hub
