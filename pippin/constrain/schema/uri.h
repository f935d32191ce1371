// Resolution of URI references (RFC 3986, section 5.2), as far as schemas need it.
#pragma once

#include <string>
#include <string_view>

namespace pippin::constrain {

struct Uri {
  std::string absolute;  // without the fragment
  std::string fragment;  // percent-decoded, without '#'
};

// Resolves `reference` in a document at `base`, which may be empty.
Uri resolve_uri(std::string_view base, std::string_view reference);

}  // namespace pippin::constrain
