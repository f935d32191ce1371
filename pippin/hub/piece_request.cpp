#include "pippin/hub/piece_request.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "pippin/hub/repo_spec.h"

namespace pippin::hub {
namespace {

std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Compares the Hub's headers with its listing; returns an empty string if they agree. Other hosts'
// etags are not compared.
std::string difference(const HttpResponse& response, const RepoFile& file,
                       const std::string& commit) {
  const auto answered = response.header("x-repo-commit");
  if (!answered || response.status >= 400) return "";
  if (*answered != commit) {
    return fmt::format("the server answers for commit {}, not {}", *answered, commit);
  }
  const auto linked = response.header("x-linked-etag");
  const std::string etag = normalize_etag(linked ? *linked : response.header("etag").value_or(""));
  if ((is_commit_hash(etag) || is_sha256(etag)) && etag != file.etag()) {
    return fmt::format("the server's etag is {}, the list says {}", etag, file.etag());
  }
  const auto size = number_of(response.header("x-linked-size").value_or(""));
  if (size && *size != file.size) {
    return fmt::format("the server has {} bytes, the list says {}", *size, file.size);
  }
  return "";
}

// Receives the bytes of one answer.
class Receiver {
 public:
  Receiver(Transfer& transfer, Piece& piece, const std::string& commit, bool ranged,
           const std::function<void(uint64_t)>& received)
      : transfer_(transfer),
        piece_(piece),
        commit_(commit),
        ranged_(ranged),
        received_(received),
        begin_(piece.begin + piece.received) {}

  bool take(const HttpResponse& response, ByteSpan bytes) {
    if (!begun_) {
      begun_ = true;
      check(response);
    }
    if (!problem_.empty()) return false;
    const size_t skipped = static_cast<size_t>(std::min<uint64_t>(skip_, bytes.size()));
    skip_ -= skipped;
    bytes = bytes.subspan(skipped);
    const uint64_t room = piece_.end - piece_.begin - piece_.received;
    const bool more = bytes.size() > room;
    if (more) bytes = bytes.first(static_cast<size_t>(room));
    if (!bytes.empty()) {
      transfer_.push(piece_, bytes);
      received_(bytes.size());
      progress_ = true;
    }
    // Bytes beyond a whole file are an error; beyond a requested range, they are ignored.
    if (more && piece_.end == transfer_.file().size && !ranged_) {
      problem_ = fmt::format("more bytes than the {} of the list", transfer_.file().size);
    }
    return !more;
  }

  void note(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }
  const std::string& problem() const { return problem_; }
  bool progress() const { return progress_; }

 private:
  void check(const HttpResponse& response) {
    const RepoFile& file = transfer_.file();
    note(difference(response, file, commit_));
    if (response.status == 206) {
      const std::string range = response.header("content-range").value_or("");
      if (!ranged_ || !content_range_fits(range, begin_, file.size)) {
        note(fmt::format("the server sends \"{}\" instead of {} bytes from {}", range, file.size,
                         begin_));
      }
      return;
    }
    const auto length = number_of(response.header("content-length").value_or(""));
    if (length && *length != file.size) {
      note(fmt::format("the server sends {} bytes, the list says {}", *length, file.size));
    }
    if (ranged_) {  // the server sends the whole file
      transfer_.set_no_ranges();
      skip_ = begin_;
    }
  }

  Transfer& transfer_;
  Piece& piece_;
  const std::string& commit_;
  bool ranged_;
  const std::function<void(uint64_t)>& received_;
  uint64_t begin_;
  uint64_t skip_ = 0;
  bool begun_ = false;
  bool progress_ = false;
  std::string problem_;
};

}  // namespace

bool content_range_fits(std::string_view header, uint64_t begin, uint64_t size) {
  if (!header.starts_with("bytes ")) return false;
  header.remove_prefix(6);
  const size_t dash = header.find('-');
  const size_t slash = header.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) {
    return false;
  }
  const auto first = number_of(header.substr(0, dash));
  const auto last = number_of(header.substr(dash + 1, slash - dash - 1));
  const std::string_view total = header.substr(slash + 1);
  return first == begin && last && *last >= begin && *last < size &&
         (total == "*" || number_of(total) == size);
}

PieceAnswer request_piece(Connection& connection, Transfer& transfer, Piece& piece,
                          const std::string& url, const std::string& commit,
                          const std::function<void(uint64_t)>& received) {
  const uint64_t begin = piece.begin + piece.received;
  const bool ranged = begin > 0 || piece.end < transfer.file().size;
  Receiver receiver(transfer, piece, commit, ranged, received);
  Connection::Options options;
  options.timeout = connection.settings().download_timeout;
  if (ranged) options.range = fmt::format("{}-{}", begin, piece.end - 1);
  options.sink = [&](const HttpResponse& response, ByteSpan bytes) {
    return receiver.take(response, bytes);
  };
  options.on_endpoint_answer = [&](const HttpResponse& response) {
    receiver.note(difference(response, transfer.file(), commit));
  };
  const std::string known = transfer.location();
  auto [response, from] = connection.request(known.empty() ? url : known, options);
  if (!receiver.problem().empty()) response.failure = receiver.problem();
  const bool content = response.status == 200 || response.status == 206;
  if (content && response.failure.empty() && !receiver.progress()) {
    response.failure = "an empty answer";
  }
  if (response.status == 416) {
    response.failure = fmt::format("the server has no bytes from {} (416), the list says {}", begin,
                                   transfer.file().size);
  }
  if (content && response.failure.empty() && !connection.is_endpoint(from)) {
    transfer.set_location(from.text());
  } else if (!response.failure.empty() || !content) {
    transfer.set_location("");  // its signature may have expired
  }
  return {std::move(response), std::move(from), receiver.progress()};
}

}  // namespace pippin::hub
