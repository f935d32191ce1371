#include "pippin/hub/transfer.h"

#include <algorithm>

#include "pippin/base/error.h"

namespace pippin::hub {

using Lock = std::lock_guard<std::mutex>;

std::unique_ptr<std::vector<std::byte>> BufferPool::take() {
  const Lock lock(mutex_);
  if (!free_.empty()) {
    auto buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  if (count_ == 0) return nullptr;
  --count_;
  auto buffer = std::make_unique<std::vector<std::byte>>();
  buffer->reserve(kPieceBytes);
  return buffer;
}

void BufferPool::give_back(std::unique_ptr<std::vector<std::byte>> buffer) {
  if (!buffer) return;
  buffer->clear();
  const Lock lock(mutex_);
  free_.push_back(std::move(buffer));
}

Transfer::Transfer(RepoFile file, const Destination& destination, BufferPool& buffers)
    : file_(std::move(file)),
      destination_(destination),
      paths_(destination.paths(file_)),
      buffers_(buffers) {}

Transfer::State Transfer::state() const {
  const Lock lock(mutex_);
  return state_;
}

bool Transfer::begin_opening() {
  const Lock lock(mutex_);
  if (state_ != State::Waiting) return false;
  state_ = State::Opening;
  return true;
}

bool Transfer::open(uint64_t& present) {
  auto file_lock = FileLock::try_lock(paths_.lock);
  if (!file_lock) {
    const Lock lock(mutex_);
    state_ = State::Waiting;
    return false;
  }
  if (destination_.is_complete(file_)) {
    destination_.finish(file_);
    std::error_code ignored;
    std::filesystem::remove(paths_.incomplete, ignored);
    present = file_.size;
    const Lock lock(mutex_);
    state_ = State::Done;
    return true;
  }
  auto partial = std::make_unique<PartialFile>(paths_.incomplete, file_);
  present = partial->size();
  const Lock lock(mutex_);
  lock_ = std::move(file_lock);
  partial_ = std::move(partial);
  asked_ = present;
  state_ = State::Active;
  return true;
}

std::shared_ptr<Piece> Transfer::next_piece() {
  const Lock lock(mutex_);
  if (state_ != State::Active || asked_ == file_.size) return nullptr;
  auto piece = std::make_shared<Piece>();
  if (!pieces_.empty()) {
    if (!ranges_) return nullptr;
    piece->buffer = buffers_.take();
    if (!piece->buffer) return nullptr;
  }
  piece->begin = asked_;
  piece->end = ranges_ ? std::min(asked_ + kPieceBytes, file_.size) : file_.size;
  asked_ = piece->end;
  pieces_[piece->begin] = piece;
  return piece;
}

bool Transfer::is_front(const Piece& piece) const {
  return pieces_.begin()->second.get() == &piece;
}

void Transfer::write(Piece& piece, ByteSpan bytes) {
  if (piece.buffer) {
    partial_->append(*piece.buffer);
    buffers_.give_back(std::move(piece.buffer));
  }
  partial_->append(bytes);
}

void Transfer::push(Piece& piece, ByteSpan bytes) {
  bool front = false;
  {
    const Lock lock(mutex_);
    front = is_front(piece);
  }
  // Only this thread adds to the piece, and only the front piece is written to disk; once a piece
  // is the front, it stays the front until complete().
  if (front) {
    write(piece, bytes);
  } else {
    piece.buffer->insert(piece.buffer->end(), bytes.begin(), bytes.end());
  }
  piece.received += bytes.size();
}

bool Transfer::complete(const std::shared_ptr<Piece>& done) {
  std::unique_lock lock(mutex_);
  done->complete = true;
  if (!is_front(*done)) return false;
  // Also write the complete pieces right after it, whose threads have finished.
  while (!pieces_.empty() && pieces_.begin()->second->complete) {
    const std::shared_ptr<Piece> front = pieces_.begin()->second;
    lock.unlock();
    write(*front, {});
    lock.lock();
    pieces_.erase(pieces_.begin());
  }
  return pieces_.empty() && asked_ == file_.size;
}

bool Transfer::finish() {
  if (const std::string found = partial_->digest(); found != file_.etag()) {
    if (was_wrong_) {
      partial_.reset();
      std::error_code ignored;
      std::filesystem::remove(paths_.incomplete, ignored);
      fail(ErrorCode::Network, "{}: what the server sends has the {} {}, the Hub lists {}",
           file_.path, file_.sha256.empty() ? "git hash" : "SHA-256", found, file_.etag());
    }
    partial_->restart();
    const Lock lock(mutex_);
    was_wrong_ = true;
    asked_ = 0;
    location_.clear();
    return false;
  }
  partial_->commit(paths_.complete);
  destination_.finish(file_);
  const Lock lock(mutex_);
  partial_.reset();
  lock_.reset();
  state_ = State::Done;
  return true;
}

std::string Transfer::location() const {
  const Lock lock(mutex_);
  return location_;
}

void Transfer::set_location(std::string url) {
  const Lock lock(mutex_);
  location_ = std::move(url);
}

void Transfer::set_no_ranges() {
  const Lock lock(mutex_);
  ranges_ = false;
}

}  // namespace pippin::hub
