// One file on its way: which pieces are requested, received, and on disk. Used by the
// threads of download.cpp only.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/file_lock.h"
#include "pippin/hub/answers.h"
#include "pippin/hub/destination.h"
#include "pippin/hub/download.h"
#include "pippin/hub/partial_file.h"

namespace pippin::hub {

// The memory in which pieces wait, made once.
class BufferPool {
 public:
  explicit BufferPool(int count) : count_(count) {}
  // Empty where all are in use.
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
  std::unique_ptr<std::vector<std::byte>> buffer;  // none for one that goes straight to disk
};

// Its functions may be called from several threads, those of one piece from the thread that has it.
class Transfer {
 public:
  Transfer(RepoFile file, const Destination& destination, BufferPool& buffers);

  enum class State { Waiting, Opening, Active, Done };
  State state() const;
  const RepoFile& file() const { return file_; }

  // Waiting -> Opening, for one thread.
  bool begin_opening();
  // Back to Waiting where another process has the lock (false). Done where the content is there;
  // else Active. Returns the bytes that are there in `present`.
  bool open(uint64_t& present);

  // The next piece to ask for; nothing where all are, or where it would need memory that there is
  // not. A file whose server knows no ranges is one piece.
  std::shared_ptr<Piece> next_piece();

  // Bytes of the piece, in order. Never more than it has room for.
  void push(Piece& piece, ByteSpan bytes);
  // After the last of them. True where that was the file's last: then finish() is the caller's.
  bool complete(const std::shared_ptr<Piece>& piece);
  // Checks the content and gives it its place: true. Where it is wrong, false, and everything is
  // asked for again; the second time throws Network.
  bool finish();

  // Where the bytes really are, when that is known (a redirect's end).
  std::string location() const;
  void set_location(std::string url);
  void set_no_ranges();

 private:
  void write(Piece& piece, ByteSpan bytes);
  bool is_front(const Piece& piece) const;  // under the mutex

  const RepoFile file_;
  const Destination& destination_;
  const Destination::Paths paths_;
  BufferPool& buffers_;

  mutable std::mutex mutex_;
  State state_ = State::Waiting;
  std::optional<FileLock> lock_;
  std::unique_ptr<PartialFile> partial_;               // written by the holder of the front piece
  std::map<uint64_t, std::shared_ptr<Piece>> pieces_;  // asked for and not on disk, by begin
  uint64_t asked_ = 0;                                 // all before is in pieces_ or on disk
  bool ranges_ = true;
  bool was_wrong_ = false;
  std::string location_;
};

}  // namespace pippin::hub
