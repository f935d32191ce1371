#include "pippin/scheduling/prompt_cache.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/stopwatch.h"
#include "pippin/io/digest.h"
#include "pippin/runtime/prompt_file.h"
#include "pippin/runtime/row_ids.h"

namespace pippin::scheduling {
namespace {

using runtime::Sequence;
using runtime::SequenceRest;

// The most tokens of a node, which is copied, read and written as a whole.
constexpr int64_t kNodeTokens = 256;
constexpr uint64_t kQueuePart = 16;  // share of the limit for data waiting to be written
constexpr uint64_t kParkedPart = 8;  // share that idle sequences may always have

runtime::RowLayout layout_of(runtime::Model& model, uint64_t limit) {
  if (limit == 0 || !model.capabilities().save) return {};
  return model.new_sequence()->row_layout();
}

std::string identity_of(runtime::Model& model, const runtime::RowLayout& layout,
                        const std::string& key) {
  Digest digest = Digest::sha256();
  digest.update(as_byte_span("pippin prompt cache " PIPPIN_VERSION " " + model.digest() + key));
  for (const runtime::RunAdapter& adapter : model.adapters()) {
    digest.update(std::as_bytes(std::span(&adapter.scale, 1)));
  }
  const int64_t numbers[] = {model.context(), layout.has_rest, layout.limit};
  digest.update(std::as_bytes(std::span(numbers)));
  for (const auto& part : layout.parts) {
    const uint64_t sizes[] = {part.groups, part.row_bytes};
    digest.update(std::as_bytes(std::span(sizes)));
  }
  return digest.finish();
}

bool has_adapters(const Sequence& sequence, std::span<const float> adapters) {
  const auto own = sequence.adapters();
  return std::equal(own.begin(), own.end(), adapters.begin(), adapters.end());
}

// A failure in the cache must not fail a request.
template <typename Body>
void without_harm(const char* what, const Body& body) try {
  body();
} catch (const std::exception& fault) {
  log_warn("the prompt cache could not {}: {}", what, fault.what());
}

}  // namespace

PromptCache::PromptCache(std::shared_ptr<runtime::Model> model, const Options& options)
    : model_(std::move(model)),
      keys_(*model_),
      tree_(layout_of(*model_, options.ram_bytes)),
      limit_(tree_.layout().is_empty() ? 0 : options.ram_bytes),
      file_(options.file) {
  for (const runtime::RunAdapter& adapter : model_->adapters()) {
    own_adapters_.push_back(adapter.applied ? adapter.scale : 0.0F);
  }
  if (is_on() && !options.folder.empty()) {
    without_harm("use its folder", [&] { open_folder(options); });
  }
  if (is_on() && !file_.empty()) without_harm("go on from its file", [&] { open_file(); });
}

PromptCache::~PromptCache() {
  // A new sequence can restore it.
  const auto last = std::find_if(parked_.rbegin(), parked_.rend(), [&](const Parked& one) {
    return has_adapters(*one.lent.sequence, own_adapters_);
  });
  if (!file_.empty() && last != parked_.rend()) {
    without_harm("write its file", [&] { runtime::save_prompt(*last->lent.sequence, file_); });
  }
  if (folder_ != nullptr) without_harm("write what it has", [&] { write_all(); });
}

void PromptCache::open_folder(const Options& options) {
  folder_ = std::make_unique<CacheFolder>(
      CacheFolder::Options{options.folder, identity_of(*model_, tree_.layout(), options.key),
                           options.disk_bytes, limit_ / kQueuePart, tree_.layout().row_bytes()});
  disk_limit_ = options.disk_bytes;
  find_files();
}

// As if the file's sequence had just ended.
void PromptCache::open_file() {
  if (!std::filesystem::exists(file_)) return;
  Lent lent{model_->new_sequence(), 0};
  lent.sequence->restore(file_);
  end(std::move(lent), 0);
}

// Finds the files of other processes and of earlier ones.
void PromptCache::find_files() {
  for (CacheFolder::Found& found : folder_->find()) {
    const std::span<const int32_t> tokens = found.header.tokens;
    const auto first = static_cast<size_t>(found.file->first);
    // Rows are usable only after all rows before them.
    const auto before = found.header.is_rest ? tokens : tokens.first(first);
    if (tree_.has_rows() && tree_.match(before).length < std::ssize(before)) continue;
    if (first > 0 && first < tokens.size()) tree_.node_at(tokens.first(first));
    TokenNode& last = tree_.node_at(tokens);
    for (TokenNode* node = &last; node->parent != nullptr && node->begin >= found.file->first;
         node = node->parent) {
      if (!found.header.is_rest && node->rows.file == nullptr) node->rows.file = found.file;
    }
    if (found.header.is_rest) {
      last.rest.content.count = last.end();
      last.rest.content.marks = found.header.marks;
      last.rest.content.parts = found.header.parts;
      last.rest.file = found.file;
    }
  }
}

// --- known tokens ---

// The number of these tokens that a sequence has after it is truncated to match.
int64_t PromptCache::usable(const Sequence& sequence, std::span<const int32_t> tokens) const {
  const auto own = sequence.tokens();
  if (std::ssize(tokens) > tree_.layout().limit) return 0;
  const size_t most = std::min(own.size(), tokens.size() - 1);
  const auto equal =
      std::mismatch(own.begin(), own.begin() + static_cast<ptrdiff_t>(most), tokens.begin()).first -
      own.begin();
  const int64_t same = runtime::reusable(tokens, equal);
  if (same == std::ssize(own)) return same;
  return model_->capabilities().truncate && same >= sequence.earliest() ? same : 0;
}

// The path of known tokens that a sequence may take: all but the text's last one.
TokenTree::Match PromptCache::match_usable(std::span<const int32_t> tokens) {
  TokenTree::Match match = tree_.match(tokens.first(tokens.size() - 1));
  match.length = runtime::reusable(tokens, match.length);
  while (!match.path.empty() && match.path.back()->begin >= match.length) match.path.pop_back();
  return match;
}

TokenNode* PromptCache::deepest_rest(const TokenTree::Match& match) const {
  TokenNode* result = nullptr;
  for (TokenNode* const node : match.path) {
    if (tree_.has_rows() && !node->rows.is_there()) break;
    if (node->end() <= match.length && node->rest.is_there()) result = node;
  }
  return result;
}

PromptCache::Known PromptCache::look_up(std::span<const int32_t> tokens,
                                        std::span<const float> adapters) {
  return look_up_keyed(keys_.keyed(tokens, adapters.empty() ? own_adapters_ : adapters));
}

PromptCache::Known PromptCache::look_up_keyed(std::span<const int32_t> tokens) {
  Known known;
  if (!is_on() || tokens.empty()) return known;
  const TokenTree::Match match = tree_.match(tokens);
  known.same = match.length;
  if (match.length < std::ssize(tokens)) known.next = tree_.next_token(match);
  if (std::ssize(tokens) > tree_.layout().limit) return known;
  const TokenTree::Match usable = match_usable(tokens);
  if (tree_.layout().has_rest) {
    const TokenNode* const rest = deepest_rest(usable);
    if (rest != nullptr) known.tokens = rest->end();
    return known;
  }
  for (const TokenNode* const node : usable.path) {
    if (!node->rows.is_there()) break;
    known.tokens = std::min(node->end(), usable.length);
  }
  return known;
}

PromptCache::Lent PromptCache::new_sequence(std::span<const float> adapters) {
  Lent lent{model_->new_sequence(), 0};
  if (!has_adapters(*lent.sequence, adapters)) lent.sequence->set_adapters(adapters);
  return lent;
}

PromptCache::Lent PromptCache::begin(std::span<const int32_t> tokens,
                                     std::span<const float> adapters) {
  if (adapters.empty()) adapters = own_adapters_;
  auto best = parked_.end();
  int64_t most = 0;
  const int64_t known = parked_.empty() ? 0 : look_up(tokens, adapters).tokens;
  for (auto one = parked_.begin(); one != parked_.end(); ++one) {
    if (!has_adapters(*one->lent.sequence, adapters)) continue;
    const int64_t count = usable(*one->lent.sequence, tokens);
    // A sequence that would lose most of its tokens is left to its own text, unless its rows are
    // nowhere else.
    const bool loses_little = count * 2 >= one->lent.sequence->position();
    const bool pays = count > known || (loses_little && (count == known || !keeps_ends()));
    if (count > most && pays) {
      best = one;
      most = count;
    }
  }
  if (best == parked_.end() && !model_->capabilities().many_sequences) best = parked_.begin();
  if (best == parked_.end()) {
    try {
      return new_sequence(adapters);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::LimitExceeded || !drop_sequences()) throw;
      return new_sequence(adapters);
    }
  }
  Lent lent = std::move(best->lent);
  parked_bytes_ -= best->bytes;
  parked_.erase(best);
  if (most < lent.sequence->position()) lent.sequence->truncate(most);
  if (!has_adapters(*lent.sequence, adapters)) lent.sequence->set_adapters(adapters);
  const auto taken = keys_.keyed(tokens.first(static_cast<size_t>(most)), adapters);
  if (!taken.empty()) tree_.touch(tree_.match(taken).path);
  return lent;
}

// --- from the tree to a sequence ---

// Loads rows or a rest into memory.
bool PromptCache::load(TokenNode& node, ItemKind kind) {
  Item& item = node.item(kind);
  if (item.is_in_memory()) return true;
  if (folder_ == nullptr || !item.is_on_disk()) return false;
  const auto bytes = folder_->read(*item.file, node.all_tokens());
  if (bytes == nullptr) {
    item.file.reset();
    return false;
  }
  SequenceRest content = item.content;
  content.bytes = bytes;
  if (kind == ItemKind::Rows && item.file->end - item.file->first > node.size()) {
    auto own = std::make_shared<runtime::RowMemory>(static_cast<uint64_t>(node.size()) *
                                                    tree_.layout().row_bytes());
    runtime::cut_piece(tree_.layout(),
                       {bytes->bytes(), item.file->end - item.file->first,
                        node.begin - item.file->first, node.size()},
                       own->bytes());
    content.bytes = std::move(own);
  }
  tree_.put(node, kind, std::move(content));
  return true;
}

// Marks nodes as used, in memory and on disk.
void PromptCache::touch(Path path) {
  tree_.touch(path);
  if (folder_ == nullptr) return;
  // In reverse order, so that the first node becomes the most recently used one.
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    if ((*node)->rows.is_on_disk()) folder_->touch(*(*node)->rows.file);
  }
}

bool PromptCache::extend(Sequence& sequence, std::span<const int32_t> tokens, double seconds) try {
  if (!is_on() || std::ssize(tokens) > tree_.layout().limit) return false;
  tokens = keys_.keyed(tokens, sequence.adapters());
  if (tokens.empty()) return false;
  if (keeps_ends()) return append_rest(sequence, tokens);
  const bool has_more = append_rows(sequence, tokens, seconds);
  if (!has_more) leave_run(sequence);
  return has_more;
} catch (const std::exception& fault) {
  log_warn("the prompt cache could not be read: {}", fault.what());
  return false;
}

bool PromptCache::append_rows(Sequence& sequence, std::span<const int32_t> tokens, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  TokenTree::Match match = match_usable(tokens);
  if (match.length <= sequence.position()) return false;
  touch(match.path);
  while (append(sequence, tokens.first(static_cast<size_t>(match.length)), match.path)) {
    make_room();  // may remove nodes of the path
    if (seconds_since(start) > seconds) return true;
    match = match_usable(tokens);
  }
  return false;
}

// A run whose end was not found, because its data has left the cache, is read whole if its rows see
// each other.
void PromptCache::leave_run(Sequence& sequence) const {
  const auto runs = sequence.row_runs();
  const bool is_within = !runs.empty() && runs.back().end() > sequence.position();
  if (is_within && model_->rows()->sight != runtime::RowForm::Sight::Causal) {
    sequence.truncate(runs.back().begin);
  }
}

// Appends the node's rows after those of the sequence.
bool PromptCache::append(Sequence& sequence, std::span<const int32_t> tokens, Path path) {
  const int64_t begin = sequence.position();
  if (begin >= std::ssize(tokens)) return false;
  const auto place = std::find_if(path.begin(), path.end(),
                                  [&](const TokenNode* node) { return node->end() > begin; });
  TokenNode& node = **place;
  if (!load(node, ItemKind::Rows)) return false;
  // In parallel with the copy.
  read_ahead(path.subspan(static_cast<size_t>(place - path.begin()) + 1));
  const int64_t end = std::min(node.end(), std::ssize(tokens));
  const runtime::RowPiece piece{node.rows.content.bytes->bytes(), node.size(), begin - node.begin,
                                end - begin};
  const auto added = tokens.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  sequence.append_rows(keys_.plain(added), {&piece, 1});
  return true;
}

// Reads two files ahead into memory, and asks the disk for more.
void PromptCache::read_ahead(Path path) const {
  constexpr size_t kRead = 2, kAsked = 10;
  if (folder_ == nullptr) return;
  for (size_t i = 0; i < std::min(kAsked, path.size()); ++i) {
    const Item& rows = path[i]->rows;
    if (rows.is_in_memory() || !rows.is_on_disk()) continue;
    if (i < kRead) {
      folder_->read_ahead(rows.file, path[i]->all_tokens());
    } else {
      folder_->ask_for(*rows.file);
    }
  }
}

// In one step, since it is usable only as a whole.
bool PromptCache::append_rest(Sequence& sequence, std::span<const int32_t> tokens) {
  if (sequence.position() > 0) return false;
  const TokenTree::Match match = tree_.match(tokens.first(tokens.size() - 1));
  TokenNode* const last = deepest_rest(match);
  if (last == nullptr) return false;
  const auto count = std::find(match.path.begin(), match.path.end(), last) - match.path.begin() + 1;
  const Path path = Path(match.path).first(static_cast<size_t>(count));
  touch(path);
  tree_.touch_rest(*last);
  if (!load(*last, ItemKind::Rest)) return false;
  std::vector<runtime::RowPiece> pieces;
  for (TokenNode* const node : path) {
    if (!tree_.has_rows()) break;
    if (!load(*node, ItemKind::Rows)) return false;
    pieces.push_back({node->rows.content.bytes->bytes(), node->size(), 0, node->size()});
  }
  sequence.append_rows(keys_.plain(tokens.first(static_cast<size_t>(last->end()))), pieces,
                       &last->rest.content);
  if (folder_ != nullptr && last->rest.is_on_disk()) folder_->touch(*last->rest.file);
  make_room();
  return false;
}

// --- from a sequence to the tree ---

int64_t PromptCache::keep(Sequence& sequence, int64_t kept, bool is_end_of_turn) {
  const int64_t position = sequence.position();
  if (!is_on() || position == 0 || position > tree_.layout().limit) return position;
  without_harm("keep what was read", [&] {
    if (tree_.has_rows() && position > kept) put_rows(sequence, kept);
    if (keeps_ends() && is_end_of_turn) put_rest(sequence);
    make_room();
  });
  return position;
}

void PromptCache::put_rows(Sequence& sequence, int64_t kept) {
  const auto tokens = keys_.keyed(sequence.tokens(), sequence.adapters());
  if (tokens.empty()) return;
  const TokenTree::Match match = tree_.match(tokens);
  // Rows that have been evicted are not copied again, and rows without those before them are
  // useless.
  for (const TokenNode* const node : match.path) {
    if (!node->rows.is_there() && node->begin < kept) return;
  }
  if (match.length < kept) return;
  for (int64_t end = match.length; end < std::ssize(tokens);) {
    end = std::min(std::ssize(tokens), end + kNodeTokens);
    tree_.node_at(tokens.first(static_cast<size_t>(end)));
  }
  const TokenTree::Match whole = tree_.match(tokens);
  tree_.touch(whole.path);
  for (TokenNode* const node : whole.path) {
    if (node->rows.is_there() || node->end() > std::ssize(tokens)) continue;
    auto rows = std::make_shared<runtime::RowMemory>(static_cast<uint64_t>(node->size()) *
                                                     tree_.layout().row_bytes());
    sequence.copy_rows(node->begin, node->end(), rows->bytes());
    tree_.put(*node, ItemKind::Rows, {.count = node->end(), .bytes = std::move(rows)});
  }
}

void PromptCache::put_rest(Sequence& sequence) {
  const auto tokens = keys_.keyed(sequence.tokens(), sequence.adapters());
  if (tokens.empty()) return;
  const TokenTree::Match match = tree_.match(tokens);
  if (tree_.has_rows() && match.length < std::ssize(tokens)) return;  // rows are missing
  for (const TokenNode* const node : match.path) {
    if (tree_.has_rows() && !node->rows.is_there()) return;
  }
  const bool is_known = match.length == std::ssize(tokens) && !match.path.empty() &&
                        match.path.back()->end() == match.length &&
                        match.path.back()->rest.is_there();
  TokenNode& node = is_known ? *match.path.back() : tree_.node_at(tokens);
  tree_.touch(tree_.match(tokens).path);
  tree_.touch_rest(node);
  if (!is_known) tree_.put(node, ItemKind::Rest, sequence.copy_rest());
}

// --- idle sequences ---

void PromptCache::end(Lent lent, int64_t kept) {
  if (lent.sequence == nullptr) return;
  keep(*lent.sequence, kept, /*is_end_of_turn=*/true);
  const int64_t position = lent.sequence->position();
  if (is_on() && position > 0 && position <= tree_.layout().limit) {
    without_harm("keep a sequence", [&] { park(std::move(lent)); });
  }
}

void PromptCache::park(Lent lent) {
  const int64_t position = lent.sequence->position();
  lent.most_tokens = std::max(lent.most_tokens, position);
  const uint64_t bytes =
      lent.sequence->cached_bytes() +
      static_cast<uint64_t>(lent.most_tokens - position) * tree_.layout().row_bytes();
  if (!model_->capabilities().many_sequences) drop_sequences();
  parked_.push_back({std::move(lent), bytes});
  parked_bytes_ += bytes;
  make_room();
}

bool PromptCache::drop_sequences() {
  parked_bytes_ = 0;
  return !std::exchange(parked_, {}).empty();
}

// --- limits ---

// Removes idle sequences first, except for a share of the memory, then the least recently used
// nodes: at once if they are on disk or there is no disk, else after they were written. Nodes that
// the disk cannot keep up with are lost.
void PromptCache::make_room() {
  const uint64_t wanted = folder_ == nullptr ? limit_ : limit_ - limit_ / kQueuePart;
  while (!parked_.empty() && used() > wanted && parked_bytes_ > limit_ / kParkedPart) {
    parked_bytes_ -= parked_.front().bytes;
    parked_.pop_front();
  }
  if (folder_ != nullptr) {
    write_oldest(wanted);
    drop_oldest(wanted, /*also_lost=*/false);
    if (const uint64_t trimmed = folder_->counts().trimmed; trimmed != trimmed_) {
      trimmed_ = trimmed;
      tree_.prune_all();
    }
  }
  drop_oldest(limit_, /*also_lost=*/true);
}

// Whether other processes know the node's text by the same tokens.
bool PromptCache::is_lasting(const TokenNode& node) const {
  if (model_->adapters().empty()) return true;
  const TokenNode* first = &node;
  while (first->begin > 0) first = first->parent;
  return first->tokens.empty() || keys_.is_lasting(first->tokens.front());
}

// Begins to write the nodes that will leave memory next.
void PromptCache::write_oldest(uint64_t wanted) {
  uint64_t leaving = 0;
  for (const TokenTree::Key& key : tree_.by_use()) {
    if (used() <= wanted + leaving) return;
    Item& item = key.node->item(key.kind);
    if (!is_lasting(*key.node)) continue;
    if (!item.is_on_disk() && !item.is_being_written() && !write(key, /*anyway=*/false)) return;
    leaving += memory_of(item);
  }
}

void PromptCache::drop_oldest(uint64_t wanted, bool also_lost) {
  for (auto next = tree_.by_use().begin(); used() > wanted && next != tree_.by_use().end();) {
    const TokenTree::Key key = *next++;
    const Item& item = key.node->item(key.kind);
    if (item.is_being_written() || (!also_lost && !item.is_on_disk())) continue;
    tree_.drop(*key.node, key.kind);
    ++counts_.evicted;
    tree_.prune(key.node);
  }
}

bool PromptCache::write(const TokenTree::Key& key, bool anyway) {
  TokenNode& node = *key.node;
  if (!is_lasting(node)) return false;
  Item& item = node.item(key.kind);
  const bool is_rest = key.kind == ItemKind::Rest;
  item.file = folder_->write(
      {node.all_tokens(), is_rest ? node.end() : node.begin, is_rest, item.content}, anyway);
  return item.file != nullptr;
}

// Writes the most recently used nodes up to the disk's limit, parents before children.
void PromptCache::write_all() {
  std::vector<TokenTree::Key> keys(tree_.by_use().rbegin(), tree_.by_use().rend());
  uint64_t left = disk_limit_;
  for (const TokenTree::Key& key : keys) {
    Item& item = key.node->item(key.kind);
    if (item.is_on_disk() || item.is_being_written()) continue;
    const uint64_t size = memory_of(item);
    if (size > left) break;
    left -= size;
    write(key, /*anyway=*/true);
  }
}

// --- counters ---

void PromptCache::count_request(int64_t tokens, int64_t reused) {
  if (!is_on()) return;
  ++(reused > 0 ? counts_.hits : counts_.misses);
  counts_.looked_up_tokens += static_cast<uint64_t>(tokens);
  counts_.reused_tokens += static_cast<uint64_t>(reused);
}

CacheState PromptCache::state() const {
  CacheState state = counts_;
  state.entries = tree_.num_nodes();
  state.ram_bytes = static_cast<int64_t>(used());
  state.ram_limit = static_cast<int64_t>(limit_);
  if (folder_ == nullptr) return state;
  const CacheFolder::Counts counts = folder_->counts();
  state.disk_bytes = static_cast<int64_t>(counts.bytes);
  state.disk_limit = static_cast<int64_t>(disk_limit_);
  state.written = counts.written;
  state.read = counts.read;
  state.discarded = counts.discarded;
  return state;
}

}  // namespace pippin::scheduling
