// SHA-256, which names cache entries and verifies the Hub's LFS files, and git's SHA-1 of "blob
// SIZE\0" and the content, which verifies all other files. Only this component uses the hashing
// library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/base/bytes.h"

namespace pippin {

class Digest {
 public:
  static Digest sha256();
  static Digest git_blob(uint64_t size);
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  ~Digest();

  void update(ByteSpan bytes);
  // Returns lower-case hexadecimal digits. Call once.
  std::string finish();

 private:
  struct Context;
  explicit Digest(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

}  // namespace pippin
