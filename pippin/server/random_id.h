// Unpredictable ids, for objects that a client needs only the id to access.
#pragma once

#include <string>
#include <string_view>

namespace pippin::server {

// Returns 48 hexadecimal digits.
std::string random_digits();
// Returns whether `id` is `prefix` and 48 hexadecimal digits, and so safe as a file name.
bool is_random_id(std::string_view id, std::string_view prefix);
// Returns 48 hexadecimal digits that depend on both texts, and tell nothing about them.
std::string derived_digits(std::string_view secret, std::string_view purpose);

}  // namespace pippin::server
