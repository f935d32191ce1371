#include "pippin/tokenizers/bpe.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/tokenizers/tables/hash_tables.h"

namespace pippin::tokenizers {
namespace {

// A token of the word so far. Symbols form a list; a symbol that was merged into another has size
// 0.
struct Symbol {
  int32_t id;
  int32_t previous;
  int32_t next;
  bool alive;
};

struct Candidate {
  uint32_t rank;
  int32_t position;
  int32_t id;
  // Orders a heap with the lowest rank, then the leftmost position, on top.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

constexpr size_t kCheck = 4096;            // steps between two polls
constexpr size_t kMaxCachedWord = 64;      // bytes
constexpr size_t kMaxCachedWords = 32768;  // limits the memory of encode() for a whole book

struct BpeMemory final : Model::Memory {
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::string scratch;
  // Words already encoded, as ranges of `cached_ids`.
  std::unordered_map<std::string, std::pair<uint32_t, uint32_t>, TextHash, std::equal_to<>> words;
  std::vector<int32_t> cached_ids;
};

class Bpe final : public Model {
 public:
  Bpe(const Json& config, JsonFile& file);

  std::unique_ptr<Memory> new_memory() const override { return std::make_unique<BpeMemory>(); }
  void tokenize(std::string_view text, Memory& memory, std::vector<int32_t>& ids) const override;
  const Vocabulary& vocabulary() const override { return table_; }

 private:
  void read_options(const Json& config);
  void read_merges(const Json& config, const JsonFile& file);
  void split_characters(std::string_view word, BpeMemory& memory) const;
  bool add_bytes(std::string_view text, std::vector<Symbol>& symbols) const;
  void merge(BpeMemory& memory) const;

  Vocabulary table_;
  MergeTable merges_;
  int32_t byte_ids_[256];  // of <0x00> ... <0xFF>; -1 if missing
  std::string prefix_, suffix_;
  std::optional<std::string> unknown_token_;
  int32_t unknown_ = -1;
  bool fuse_unknown_ = false, byte_fallback_ = false, ignore_merges_ = false;
};

Bpe::Bpe(const Json& config, JsonFile& file) : table_(take_tokens(config, file), file.vocab_ids) {
  if (!file.has_merges) config.invalid("the key 'merges' is missing or not an array");
  for (int b = 0; b < 256; ++b) byte_ids_[b] = table_[fmt::format("<0x{:02X}>", b)];
  read_options(config);
  read_merges(config, file);
}

void Bpe::read_options(const Json& config) {
  if (config.get_float_or("dropout", 0) != 0) {
    fail(ErrorCode::Unsupported, "{}: random merges are not supported", config.where("dropout"));
  }
  prefix_ = config.find_string("continuing_subword_prefix").value_or("");
  suffix_ = config.find_string("end_of_word_suffix").value_or("");
  fuse_unknown_ = config.get_bool_or("fuse_unk", false);
  byte_fallback_ = config.get_bool_or("byte_fallback", false);
  ignore_merges_ = config.get_bool_or("ignore_merges", false);
  unknown_token_ = config.find_string("unk_token");
  if (unknown_token_) unknown_ = table_[*unknown_token_];
}

void Bpe::read_merges(const Json& config, const JsonFile& file) {
  const StringPool& parts = file.merge_parts;
  const size_t count = parts.size() / 2;
  merges_ = MergeTable(count + file.ranked_merges.size());
  for (const auto& [left, right, merged, rank] : file.ranked_merges) {
    merges_.insert(left, right, {rank, merged});
  }
  // Most files list merges in the order of the tokens that they make: a merge makes the same token
  // as the previous merge, or the next token. This does not hold if a token has several ids.
  const bool unique = table_.tokens().size() == static_cast<size_t>(table_.size());
  int32_t made = -1;
  const auto expected = [&](std::string_view joined) {
    if (!unique) return -1;
    if (table_.token_of(made) == joined) return made;
    return table_.token_of(made + 1) == joined ? made + 1 : -1;
  };
  // Lookups in a large vocabulary miss the cache. So merges are looked up in blocks, and the
  // entries of a block's tokens (three for each merge) are prefetched before the first is read.
  constexpr size_t kBlock = 32;
  struct Entry {
    std::string_view tokens[3];  // left, right, and both joined
    uint64_t hashes[3];
    int32_t ids[3];
    size_t looked_up;  // number of tokens to look up; the third may be known already
    std::string joined;
  };
  std::vector<Entry> block(kBlock);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t here = std::min(kBlock, count - begin);
    for (size_t i = 0; i < here; ++i) {
      Entry& entry = block[i];
      const size_t part = 2 * (begin + i);
      const std::string_view left = parts[part], right = parts[part + 1];
      if (right.size() < prefix_.size()) {
        fail(ErrorCode::InvalidFile, "{}.merges: merge {} lacks the prefix '{}'", config.where(),
             begin + i, prefix_);
      }
      std::string_view joined = parts.range(part, part + 2);
      if (!prefix_.empty()) {
        entry.joined.assign(left).append(right.substr(prefix_.size()));
        joined = entry.joined;
      }
      const std::string_view tokens[] = {left, right, joined};
      entry.ids[2] = expected(joined);
      if (entry.ids[2] >= 0) made = entry.ids[2];
      entry.looked_up = entry.ids[2] >= 0 ? 2 : 3;
      for (size_t k = 0; k < 3; ++k) {
        entry.tokens[k] = tokens[k];
        if (k >= entry.looked_up) continue;
        entry.hashes[k] = hash_of(tokens[k]);
        table_.table().prefetch(entry.hashes[k]);
      }
    }
    for (size_t i = 0; i < here; ++i) {
      for (size_t k = 0; k < block[i].looked_up; ++k) {
        table_.table().prefetch_token(block[i].hashes[k]);
      }
    }
    for (size_t i = 0; i < here; ++i) {
      Entry& entry = block[i];
      for (size_t k = 0; k < entry.looked_up; ++k) {
        entry.ids[k] = table_.table().find_hashed(entry.tokens[k], entry.hashes[k]);
        if (entry.ids[k] >= 0) continue;
        fail(ErrorCode::InvalidFile,
             "{}.merges: merge {} needs '{}', which is not in the vocabulary", config.where(),
             begin + i, entry.tokens[k]);
      }
      made = entry.ids[2];
      merges_.prefetch(entry.ids[0], entry.ids[1]);
    }
    for (size_t i = 0; i < here; ++i) {
      const Entry& entry = block[i];
      merges_.insert(entry.ids[0], entry.ids[1], {static_cast<uint32_t>(begin + i), entry.ids[2]});
    }
  }
}

void Bpe::tokenize(std::string_view text, Memory& memory, std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    if (const int32_t id = table_[text]; id >= 0) {
      ids.push_back(id);
      return;
    }
  }
  auto& mine = static_cast<BpeMemory&>(memory);
  if (const auto seen = mine.words.find(text); seen != mine.words.end()) {
    const auto [begin, end] = seen->second;
    ids.insert(ids.end(), mine.cached_ids.begin() + begin, mine.cached_ids.begin() + end);
    return;
  }
  split_characters(text, mine);
  merge(mine);
  const size_t begin = ids.size();
  for (const auto& symbol : mine.symbols) {
    if (symbol.alive) ids.push_back(symbol.id);
  }
  if (text.size() <= kMaxCachedWord && mine.words.size() < kMaxCachedWords) {
    const auto from = static_cast<uint32_t>(mine.cached_ids.size());
    mine.cached_ids.insert(mine.cached_ids.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                           ids.end());
    const auto to = static_cast<uint32_t>(mine.cached_ids.size());
    mine.words.emplace(std::string(text), std::pair(from, to));
  }
}

void Bpe::split_characters(std::string_view word, BpeMemory& memory) const {
  auto& symbols = memory.symbols;
  symbols.clear();
  const auto add = [&](int32_t id) { symbols.push_back({id, 0, 0, true}); };
  bool pending_unknown = false;
  size_t next_check = kCheck;
  for (size_t i = 0; i < word.size();) {
    if (i >= next_check) {
      check_cancel();
      next_check = i + kCheck;
    }
    const size_t at = i;
    decode_utf8(word, i);
    std::string_view text = word.substr(at, i - at);
    const bool decorated = (at > 0 && !prefix_.empty()) || (i == word.size() && !suffix_.empty());
    if (decorated) {
      memory.scratch.clear();
      if (at > 0) memory.scratch += prefix_;
      memory.scratch += text;
      if (i == word.size()) memory.scratch += suffix_;
      text = memory.scratch;
    }
    if (const int32_t id = table_[text]; id >= 0) {
      if (pending_unknown) add(unknown_);
      pending_unknown = false;
      add(id);
      continue;
    }
    // A pending unknown token to be fused comes after these bytes, as in the original.
    if (byte_fallback_ && add_bytes(text, symbols)) continue;
    if (!unknown_token_) continue;
    if (unknown_ < 0) {  // checked only here: known text does not need it
      fail(ErrorCode::InvalidFile, "a tokenizer's unk_token '{}' is not in its vocabulary",
           *unknown_token_);
    }
    if (pending_unknown && !fuse_unknown_) add(unknown_);
    pending_unknown = true;
  }
  if (pending_unknown) add(unknown_);
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].previous = static_cast<int32_t>(i) - 1;
    symbols[i].next = i + 1 < symbols.size() ? static_cast<int32_t>(i) + 1 : -1;
  }
}

// Adds all bytes of the text, or none.
bool Bpe::add_bytes(std::string_view text, std::vector<Symbol>& symbols) const {
  for (const char b : text) {
    if (byte_ids_[static_cast<unsigned char>(b)] < 0) return false;
  }
  for (const char b : text) {
    symbols.push_back({byte_ids_[static_cast<unsigned char>(b)], 0, 0, true});
  }
  return true;
}

void Bpe::merge(BpeMemory& memory) const {
  auto& symbols = memory.symbols;
  auto& heap = memory.heap;
  heap.clear();
  const auto at = [&](int32_t i) -> Symbol& { return symbols[static_cast<size_t>(i)]; };
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    if (i % kCheck == kCheck - 1) check_cancel();
    if (const Merge* merge = merges_.find(symbols[i].id, symbols[i + 1].id)) {
      heap.push_back({merge->rank, static_cast<int32_t>(i), merge->id});
    }
  }
  std::make_heap(heap.begin(), heap.end());
  const auto propose = [&](int32_t left, int32_t right) {
    if (const Merge* merge = merges_.find(at(left).id, at(right).id)) {
      heap.push_back({merge->rank, left, merge->id});
      std::push_heap(heap.begin(), heap.end());
    }
  };
  for (size_t count = 1; !heap.empty(); ++count) {
    if (count % kCheck == 0) check_cancel();
    const Candidate top = heap.front();
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    Symbol& left = at(top.position);
    if (!left.alive || left.next < 0) continue;
    Symbol& right = at(left.next);
    // The pair may have changed since it was pushed.
    const Merge* merge = merges_.find(left.id, right.id);
    if (merge == nullptr || merge->id != top.id) continue;
    left.id = top.id;
    left.next = right.next;
    right.alive = false;
    if (left.next >= 0) at(left.next).previous = top.position;
    if (left.previous >= 0) propose(left.previous, top.position);
    if (left.next >= 0) propose(top.position, left.next);
  }
}

}  // namespace

std::unique_ptr<Model> make_bpe(const Json& config, JsonFile& file) {
  return std::make_unique<Bpe>(config, file);
}

}  // namespace pippin::tokenizers
