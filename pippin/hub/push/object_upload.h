// The upload of one LFS object: which of its parts are sent, and which arrived. Used only by the
// threads of uploader.cpp.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pippin/hub/push/notes.h"
#include "pippin/hub/push/push_api.h"

namespace pippin::hub {

// A range of the content and its address. Addresses of an older round are void.
struct UploadPart {
  size_t index = 0;
  int round = 0;
  uint64_t begin = 0, end = 0;
  std::string url;
  std::vector<std::string> headers;
};

// Thread-safe.
class ObjectUpload {
 public:
  ObjectUpload(LfsObject object, UploadAction action, const PushNotes& notes, std::string where);

  const LfsObject& object() const { return object_; }
  // Bytes that arrived in this round.
  uint64_t arrived() const;
  // Returns the next part to send; nothing if all are sent or arrived.
  std::optional<UploadPart> next_part();
  // Notes that the part arrived. Returns true for the last one: the caller must then complete the
  // object. False as well for a part of an older round.
  bool arrive(const UploadPart& part, const std::string& etag);
  bool is_current(const UploadPart& part) const;

  // Starts another round with new addresses, unless another thread has done so since `round`.
  // Throws Network after kMostRounds: `why` is the last refusal.
  void restart(int round, UploadAction action);
  // Whether another round may begin.
  bool may_restart() const;

  // For the thread that completes the object.
  UploadAction action() const;
  std::vector<std::string> etags() const;
  int round() const;
  void finish();
  // After a refusal: the next push starts this object over.
  void forget_parts() const;
  bool is_done() const;

 private:
  void begin_round();

  static constexpr int kMostRounds = 3;
  const LfsObject object_;
  const PushNotes& notes_;
  const std::string where_;

  mutable std::mutex mutex_;
  UploadAction action_;
  std::vector<std::string> etags_;  // "" for parts that have not arrived
  std::vector<size_t> waiting_;     // parts to send, last first
  int round_ = 0;
  size_t missing_ = 0;
  bool done_ = false;
};

}  // namespace pippin::hub
