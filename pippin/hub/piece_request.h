// One request for a piece of a file, and whether its answer is what it has to be.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pippin/hub/connection.h"
#include "pippin/hub/transfer.h"

namespace pippin::hub {

struct PieceAnswer {
  HttpResponse response;  // failure set where anything was not as it has to be
  Url url;
  bool progress = false;  // some bytes came
};

// Asks for what the piece still lacks, at the file's known location or at `url`, and hands what
// comes to the transfer; `received` is told how much.
PieceAnswer request_piece(Connection& connection, Transfer& transfer, Piece& piece,
                          const std::string& url, const std::string& commit,
                          const std::function<void(uint64_t)>& received);

// "bytes 100-199/1000": whether it begins there, of a file of that size ("*" is any).
bool content_range_fits(std::string_view header, uint64_t begin, uint64_t size);

}  // namespace pippin::hub
