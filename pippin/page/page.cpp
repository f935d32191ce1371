#include "pippin/page/page.h"

namespace pippin::page {

#ifndef PIPPIN_HAS_PAGE
std::span<const File> files() {
  return {};
}
#endif

const File* find(std::string_view path) {
  for (const File& file : files()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

}  // namespace pippin::page
