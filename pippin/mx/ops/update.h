// Results that are an input with some elements changed: in the input's memory if nothing else needs
// it.
#pragma once

#include "pippin/mx/core/index.h"
#include "pippin/mx/core/node.h"

namespace pippin::mx {

// Fills `out` with the elements of input 0, ready to be changed.
void begin_update(Node& out);

// Combines elements of `out` with those of `update`, of the same type. Steps and offsets are in
// elements.
class Updater {
 public:
  Updater(UpdateMode mode, Dtype dtype);
  void run(std::byte* to, int64_t to_step, const std::byte* update, int64_t update_step,
           int64_t count) const;
  // A block of `shape` that begins at these offsets.
  void block(const Shape& shape, Node& out, const Strides& out_strides, int64_t out_offset,
             const Node& update, const Strides& update_strides, int64_t update_offset) const;

 private:
  UpdateMode mode_;
  Dtype dtype_;
  int64_t item_;
};

}  // namespace pippin::mx
