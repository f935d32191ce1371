#include "pippin/page/page.h"

namespace pippin::page {

std::span<const File> files() {
  return {};
}

}  // namespace pippin::page
