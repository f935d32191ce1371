// The appearance of text on a terminal: user-perceived characters and their width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pippin::terminal {

// A grapheme cluster (Unicode Standard Annex 29).
struct Cluster {
  size_t size = 0;  // bytes
  int columns = 0;  // 0 for marks without a base letter, 1 or 2
  bool is_control = false;
};

// Returns the cluster that begins at `position`, which must be before the end.
Cluster cluster_at(std::string_view text, size_t position);
// Returns the start of the cluster that ends at `position`, which must not be 0.
size_t cluster_before(std::string_view text, size_t position);

// A cluster in a form that is safe for any terminal: characters that control it (control
// characters, direction marks) become "^[" or "<202E>", invalid UTF-8 becomes U+FFFD. For an
// ASCII-only terminal, "?" replaces other characters.
struct Shown {
  std::string text;
  int columns = 0;
};
Shown shown(std::string_view cluster, bool is_utf8);

}  // namespace pippin::terminal
