// Replaces compressed weights by constants, so that they can be compressed again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::compress {

// Constants that replace the results of a block's constexpr operations (except those that only feed
// others), computed by the value rules when read.
class Expansion {
 public:
  // Users of the results now use the constants.
  Expansion(mil::Block& block, mil::Opset opset);
  Expansion(const Expansion&) = delete;
  Expansion& operator=(const Expansion&) = delete;
  ~Expansion();

  bool is_expanded(const mil::Operation* constant) const;
  // Restores the results of the operations that `keep` contains; removes the others, which their
  // constants then own.
  void finish(const std::vector<const mil::Operation*>& keep);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The names of the results that Expansion would replace.
std::vector<std::string> compressed_names(const mil::Block& block);

}  // namespace pippin::compress
