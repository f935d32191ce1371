// What a model has computed of prompts and answers, kept for requests that begin with the same
// tokens (docs/decisions/0017-prompts-that-begin-alike-are-read-once.md). Tokens are compared one
// by one; nothing is found by a hash alone.
//
//   auto lent = cache.begin(tokens);          // a sequence with as much as costs nothing
//   cache.extend(*lent.sequence, tokens, 0.05);  // and with what has to be copied
//   ... feed a piece ...
//   kept = cache.keep(*lent.sequence, kept);
//   cache.end(std::move(lent), kept);
//
// Rows of caches lie in a tree (token_tree.h) in memory, up to a limit in bytes, and in files
// (cache_folder.h), where they go when memory is short and at the end. Besides, the sequences of
// requests that ended are kept for a while: a text that goes on where one of them is needs no copy.
//
// Used by one thread. Nothing of a request fails with it: what goes wrong is a line of the log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/runtime/model.h"
#include "pippin/runtime/sequence.h"
#include "pippin/serve/cache_folder.h"
#include "pippin/serve/scheduler.h"
#include "pippin/serve/token_tree.h"

namespace pippin::serve {

class PromptCache {
 public:
  struct Options {
    uint64_t ram_bytes = 0;  // 0: nothing is kept
    std::filesystem::path folder;
    uint64_t disk_bytes = 0;
    std::string key;  // what the model's digest does not tell
    std::filesystem::path file;
  };
  PromptCache(std::shared_ptr<runtime::Model> model, const Options& options);
  PromptCache(const PromptCache&) = delete;
  PromptCache& operator=(const PromptCache&) = delete;
  ~PromptCache();  // writes what is not on disk yet, and the file

  // A sequence for a request, and the most tokens that it had at any time: memory that it has.
  struct Lent {
    std::unique_ptr<runtime::Sequence> sequence;
    int64_t most_tokens = 0;
  };
  // Its tokens begin those that are given, which are at least one more. Throws as
  // Model::new_sequence().
  Lent begin(std::span<const int32_t> tokens);
  // Appends what is known of the tokens behind those that the sequence has, all but the last one,
  // until the time is over, but at least one node. Returns whether there may be more.
  bool extend(runtime::Sequence& sequence, std::span<const int32_t> tokens, double seconds);

  // Keeps what the sequence has computed behind the first `kept` of its tokens, which were kept
  // already; also as a whole, for models where only that helps, at the end of a turn. Returns its
  // position.
  int64_t keep(runtime::Sequence& sequence, int64_t kept, bool is_end_of_turn = false);
  // Whether an end of a turn is something to be kept by itself.
  bool keeps_ends() const { return tree_.layout().has_rest; }
  // The request has ended: keeps all, and the sequence itself while there is room.
  void end(Lent lent, int64_t kept);
  // Gives the memory of sequences back that nobody uses. False if there are none.
  bool drop_sequences();

  // How many of the tokens are known, and the one behind them that is there instead; -1: none.
  struct Known {
    int64_t tokens = 0, same = 0;
    int32_t next = -1;
  };
  Known look_up(std::span<const int32_t> tokens);
  void count_request(int64_t tokens, int64_t reused);
  CacheState state() const;

 private:
  struct Parked {
    Lent lent;
    uint64_t bytes = 0;
  };
  using Path = std::span<TokenNode* const>;

  void open_folder(const Options& options);
  void open_file();
  void find_files();
  bool is_on() const { return limit_ > 0; }
  int64_t usable(const runtime::Sequence& sequence, std::span<const int32_t> tokens) const;
  bool load(TokenNode& node, ItemKind kind);
  bool append(runtime::Sequence& sequence, std::span<const int32_t> tokens, Path path);
  void read_ahead(Path path) const;
  bool append_rest(runtime::Sequence& sequence, std::span<const int32_t> tokens);
  TokenNode* deepest_rest(const TokenTree::Match& match) const;
  void put_rows(runtime::Sequence& sequence, int64_t kept);
  void put_rest(runtime::Sequence& sequence);
  void touch(Path path);
  void park(Lent lent);
  void make_room();
  void write_oldest(uint64_t wanted);
  void drop_oldest(uint64_t wanted, bool also_lost);
  bool write(const TokenTree::Key& key, bool anyway);
  uint64_t used() const { return tree_.bytes() + parked_bytes_; }
  void write_all();

  const std::shared_ptr<runtime::Model> model_;
  TokenTree tree_;
  uint64_t limit_;
  const std::filesystem::path file_;  // of one sequence; empty: none
  std::unique_ptr<CacheFolder> folder_;
  uint64_t disk_limit_ = 0, trimmed_ = 0;
  std::list<Parked> parked_;  // the one that ended last at the end
  uint64_t parked_bytes_ = 0;
  CacheState counts_;
};

}  // namespace pippin::serve
