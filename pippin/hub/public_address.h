// Addresses that a server may contact on behalf of its clients.
#pragma once

#include <string>

struct sockaddr;

namespace pippin::hub {

// Returns whether an IPv4 or IPv6 address belongs to the public Internet: false for loopback,
// private, link-local, shared, multicast, documentation and reserved addresses (IANA's special
// purpose registries), for IPv6 addresses that carry such an IPv4 address, and for other families.
bool is_public_address(const sockaddr& address);

// Returns the address in its usual notation, without the port.
std::string address_text(const sockaddr& address);

}  // namespace pippin::hub
