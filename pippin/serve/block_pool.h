// Memory for caches, counted in blocks of tokens: what sequences that run at the same time may have
// together. A cache is one stretch of memory that the system fills page by page as tokens come
// (engine/run/memory.h), so blocks are counted, not handed out.
#pragma once

#include <cstdint>

namespace pippin::serve {

constexpr int64_t kBlockTokens = 64;

// Used by one thread.
class BlockPool {
 public:
  // `tokens` of cache in all, rounded down to blocks but at least one; negative: no limit.
  explicit BlockPool(int64_t tokens);

  static int64_t blocks_for(int64_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

  // Whether this many tokens would fit if nobody else had any.
  bool could_hold(int64_t tokens) const { return is_unlimited_ || blocks_for(tokens) <= total_; }
  // Makes `held` blocks enough for `tokens`. False, and nothing changes, if too few are free.
  bool grow(int64_t& held, int64_t tokens);
  void give_back(int64_t& held);

  int64_t used() const { return used_; }
  int64_t total() const { return total_; }  // 0: no limit

 private:
  bool is_unlimited_;
  int64_t total_, used_ = 0;
};

}  // namespace pippin::serve
