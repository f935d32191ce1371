// Keeps the computed caches of prompts and answers for requests that begin with the same tokens
// (docs/decisions/0017-prompts-that-begin-alike-are-read-once.md). Tokens are compared one by one;
// a hash alone never decides.
//
//   auto lent = cache.begin(tokens);          // a sequence with all tokens that need no copy
//   cache.extend(*lent.sequence, tokens, 0.05);  // copies more into it
//   ... feed a piece ...
//   kept = cache.keep(*lent.sequence, kept);
//   cache.end(std::move(lent), kept);
//
// Rows of caches are kept in a tree (token_tree.h) in memory, up to a limit in bytes, and in files
// (cache_folder.h), to which they move when memory is short and at the end. The sequences of ended
// requests are also kept for a while: a text that continues one of them needs no copy.
//
// Texts that different adapters read (Sequence::adapters()) share nothing.
//
// Used by one thread. Its failures are logged and never fail a request.
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
#include "pippin/scheduling/adapter_keys.h"
#include "pippin/scheduling/cache_folder.h"
#include "pippin/scheduling/scheduler.h"
#include "pippin/scheduling/token_tree.h"

namespace pippin::scheduling {

class PromptCache {
 public:
  struct Options {
    uint64_t ram_bytes = 0;  // 0: the cache is off
    std::filesystem::path folder;
    uint64_t disk_bytes = 0;
    std::string key;  // what distinguishes models with the same digest
    std::filesystem::path file;
  };
  PromptCache(std::shared_ptr<runtime::Model> model, const Options& options);
  PromptCache(const PromptCache&) = delete;
  PromptCache& operator=(const PromptCache&) = delete;
  ~PromptCache();  // writes pending data and the file

  // A sequence lent to a request, and the most tokens that it ever had, which determine its memory.
  struct Lent {
    std::unique_ptr<runtime::Sequence> sequence;
    int64_t most_tokens = 0;
  };
  // Returns a sequence with these adapters (Sequence::adapters(); empty: those of new sequences)
  // whose tokens are a prefix of the given ones and at least one token shorter. Throws the errors
  // of Model::new_sequence() and Sequence::set_adapters().
  Lent begin(std::span<const int32_t> tokens, std::span<const float> adapters = {});
  // Appends known tokens after those of the sequence, all but the last one, until the time is over,
  // but at least one node. Returns whether there may be more.
  bool extend(runtime::Sequence& sequence, std::span<const int32_t> tokens, double seconds);

  // Keeps the data that the sequence has computed after its first `kept` tokens, which were kept
  // before. At the end of a turn also keeps the rest, for models that have one. Returns the
  // sequence's position.
  int64_t keep(runtime::Sequence& sequence, int64_t kept, bool is_end_of_turn = false);
  // Whether the end of a turn is kept separately.
  bool keeps_ends() const { return tree_.layout().has_rest; }
  // Ends a request: keeps all its data, and the sequence itself while there is room.
  void end(Lent lent, int64_t kept);
  // Frees the memory of idle sequences. Returns false if none exist.
  bool drop_sequences();

  // The number of known tokens, and the known token after them that differs from the text's; -1:
  // none.
  struct Known {
    int64_t tokens = 0, same = 0;
    int32_t next = -1;
  };
  Known look_up(std::span<const int32_t> tokens, std::span<const float> adapters = {});
  void count_request(int64_t tokens, int64_t reused);
  CacheState state() const;

 private:
  struct Parked {
    Lent lent;
    uint64_t bytes = 0;
  };
  using Path = std::span<TokenNode* const>;

  Known look_up_keyed(std::span<const int32_t> tokens);
  Lent new_sequence(std::span<const float> adapters);
  void open_folder(const Options& options);
  void open_file();
  void find_files();
  bool is_on() const { return limit_ > 0; }
  int64_t usable(const runtime::Sequence& sequence, std::span<const int32_t> tokens) const;
  bool load(TokenNode& node, ItemKind kind);
  bool append(runtime::Sequence& sequence, std::span<const int32_t> tokens, Path path);
  void read_ahead(Path path) const;
  TokenTree::Match match_usable(std::span<const int32_t> tokens);
  bool append_rows(runtime::Sequence& sequence, std::span<const int32_t> tokens, double seconds);
  void leave_run(runtime::Sequence& sequence) const;
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
  bool is_lasting(const TokenNode& node) const;
  uint64_t used() const { return tree_.bytes() + parked_bytes_; }
  void write_all();

  const std::shared_ptr<runtime::Model> model_;
  AdapterKeys keys_;
  std::vector<float> own_adapters_;  // of new sequences
  TokenTree tree_;                   // of keyed tokens
  uint64_t limit_;
  const std::filesystem::path file_;  // with one sequence; empty: none
  std::unique_ptr<CacheFolder> folder_;
  uint64_t disk_limit_ = 0, trimmed_ = 0;
  std::list<Parked> parked_;  // the most recent one last
  uint64_t parked_bytes_ = 0;
  CacheState counts_;
};

}  // namespace pippin::scheduling
