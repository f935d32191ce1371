// One request for a piece of a file, with checks of the answer.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pippin/hub/connection.h"
#include "pippin/hub/transfer.h"

namespace pippin::hub {

struct PieceAnswer {
  HttpResponse response;  // `failure` is set if the answer is not as expected
  Url url;
  bool progress = false;  // some bytes arrived
};

// Requests the missing part of the piece, from the file's known location or from `url`, and passes
// the bytes to the transfer; calls `received` with their number.
PieceAnswer request_piece(Connection& connection, Transfer& transfer, Piece& piece,
                          const std::string& url, const std::string& commit,
                          const std::function<void(uint64_t)>& received);

// Returns whether "bytes 100-199/1000" begins at `begin`, for a file of `size` bytes ("*" is any).
bool content_range_fits(std::string_view header, uint64_t begin, uint64_t size);

}  // namespace pippin::hub
