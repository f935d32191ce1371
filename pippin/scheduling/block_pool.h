// The memory for caches, counted in blocks of tokens: a limit for all sequences that run at the
// same time. A cache is one range of memory that the system fills page by page as tokens come
// (engine/run/memory.h), so blocks are only counted, not handed out.
#pragma once

#include <cstdint>

namespace pippin::scheduling {

constexpr int64_t kBlockTokens = 64;

// Used by one thread.
class BlockPool {
 public:
  // `tokens` of cache in total, rounded down to blocks but at least one; negative: no limit.
  explicit BlockPool(int64_t tokens);

  static int64_t blocks_for(int64_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

  // Whether this many tokens would fit if all blocks were free.
  bool could_hold(int64_t tokens) const { return is_unlimited_ || blocks_for(tokens) <= total_; }
  // Increases `held` to enough blocks for `tokens`. Returns false, without a change, if too few are
  // free.
  bool grow(int64_t& held, int64_t tokens);
  void give_back(int64_t& held);

  int64_t used() const { return used_; }
  int64_t total() const { return total_; }  // 0: no limit

 private:
  bool is_unlimited_;
  int64_t total_, used_ = 0;
};

}  // namespace pippin::scheduling
