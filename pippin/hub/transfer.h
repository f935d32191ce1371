// The transfer of one file: which pieces are requested, received, and on disk. Used only by the
// threads of download.cpp.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/files/file_lock.h"
#include "pippin/hub/answers.h"
#include "pippin/hub/destination.h"
#include "pippin/hub/download.h"
#include "pippin/hub/partial_file.h"

namespace pippin::hub {

// Buffers for waiting pieces, allocated once.
class BufferPool {
 public:
  explicit BufferPool(int count) : count_(count) {}
  // Returns null if all are in use.
  std::unique_ptr<std::vector<std::byte>> take();
  void give_back(std::unique_ptr<std::vector<std::byte>> buffer);

 private:
  std::mutex mutex_;
  int count_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> free_;
};

struct Piece {
  uint64_t begin = 0, end = 0;
  uint64_t received = 0;
  bool complete = false;
  std::unique_ptr<std::vector<std::byte>> buffer;  // null for a piece that goes directly to disk
};

// Thread-safe, except that the functions for one piece must be called from the thread that has it.
class Transfer {
 public:
  Transfer(RepoFile file, const Destination& destination, BufferPool& buffers);

  enum class State { Waiting, Opening, Active, Done };
  State state() const;
  const RepoFile& file() const { return file_; }

  // Moves from Waiting to Opening, for one thread.
  bool begin_opening();
  // Moves back to Waiting and returns false if another process has the lock; else to Done if the
  // content is complete, or to Active. Sets `present` to the number of bytes on disk.
  bool open(uint64_t& present);

  // Returns the next piece to request; nothing if all are requested, or if no buffer is free. If
  // the server does not support ranges, the file is one piece.
  std::shared_ptr<Piece> next_piece();

  // Adds bytes to the piece, in order. At most the piece's size in total.
  void push(Piece& piece, ByteSpan bytes);
  // Call after the piece's last byte. Returns true for the file's last piece; the caller must then
  // call finish().
  bool complete(const std::shared_ptr<Piece>& piece);
  // Verifies the content, moves it into place and returns true. If it is wrong, returns false and
  // everything is requested again; the second time throws Network.
  bool finish();

  // The URL of the content itself, if known (the target of a redirect).
  std::string location() const;
  void set_location(std::string url);
  void set_no_ranges();

 private:
  void write(Piece& piece, ByteSpan bytes);
  bool is_front(const Piece& piece) const;  // call under the mutex

  const RepoFile file_;
  const Destination& destination_;
  const Destination::Paths paths_;
  BufferPool& buffers_;

  mutable std::mutex mutex_;
  State state_ = State::Waiting;
  std::optional<FileLock> lock_;
  std::unique_ptr<PartialFile> partial_;               // written by the owner of the front piece
  std::map<uint64_t, std::shared_ptr<Piece>> pieces_;  // requested and not on disk, by begin
  uint64_t asked_ = 0;                                 // everything before is in pieces_ or on disk
  bool ranges_ = true;
  bool was_wrong_ = false;
  std::string location_;
};

}  // namespace pippin::hub
