// For tests of the division of work among any number of threads: a pool whose parts run in order.
#pragma once

#include "pippin/base/threads/thread_pool.h"

namespace pippin {

struct CountedParts final : PoolObserver {
  int runs = 0;
  int part = 0;        // the current one, or the last one
  bool piece = false;  // whether it is at a piece that any free thread could take
  void begin_run(int) override { ++runs; }
  void begin_part(int next) override { part = next, piece = false; }
  void begin_piece() override { piece = true; }
  void end_run() override {}
};

}  // namespace pippin
