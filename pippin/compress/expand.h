// Weights that are compressed already, as constants again: what compressing them anew starts from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::compress {

// The constants that stand in for the results of a block's constexpr operations (not of those that
// only feed others), computed by the value rules when they are read.
class Expansion {
 public:
  // What used the results uses the constants now.
  Expansion(mil::Block& block, mil::Opset opset);
  Expansion(const Expansion&) = delete;
  Expansion& operator=(const Expansion&) = delete;
  ~Expansion();

  bool is_expanded(const mil::Operation* constant) const;
  // Puts back the results of those that `keep` does not name, and removes the operations of the
  // others: their constants own them.
  void finish(const std::vector<const mil::Operation*>& keep);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The names of the results that Expansion would stand in for.
std::vector<std::string> compressed_names(const mil::Block& block);

}  // namespace pippin::compress
