// How text looks on a terminal: what a reader takes for one character, and how wide that is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pippin::terminal {

// A grapheme cluster (Unicode Standard Annex 29).
struct Cluster {
  size_t size = 0;  // bytes
  int columns = 0;  // 0 for marks without a letter to stand on, 1 or 2
  bool is_control = false;
};

// The one that begins at `position`, which is before the end.
Cluster cluster_at(std::string_view text, size_t position);
// Where the one begins that ends at `position`, which is not 0.
size_t cluster_before(std::string_view text, size_t position);

// The cluster as it may be written to any terminal: what a terminal would obey (control characters,
// marks that turn the direction of writing) comes as "^[" or "<202E>", bytes that are no UTF-8 as
// U+FFFD. In a terminal that knows ASCII only, "?" stands for the rest.
struct Shown {
  std::string text;
  int columns = 0;
};
Shown shown(std::string_view cluster, bool is_utf8);

}  // namespace pippin::terminal
