#include "pippin/hub/http.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <exception>
#include <filesystem>
#include <mutex>
#include <span>

#include <fmt/format.h>
#include <sys/socket.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/hub/authorities.h"
#include "pippin/hub/curl.h"
#include "pippin/hub/public_address.h"

namespace pippin::hub {
namespace {

constexpr size_t kMaxHeaderBytes = size_t{256} << 10;
constexpr long kReceiveBuffer = 256L << 10;
constexpr long kSendBuffer = 512L << 10;
// Slower than any real link; detects servers that keep a transfer open without sending data.
constexpr long kLeastBytesPerSecond = 100;

// Shared state of one transfer's callbacks.
struct Transfer {
  const HttpRequest* request;
  const BodySink* sink;
  const std::atomic<bool>* stop;
  HttpResponse response;
  size_t header_bytes = 0;
  uint64_t sent = 0;  // of HttpRequest::put
  bool sink_ended = false;
  std::string refusal;
  std::exception_ptr thrown;
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return text;
}

void read_header(Transfer& transfer, std::string_view line) {
  if (line.starts_with("HTTP/")) {  // also after "100 Continue" or a proxy's answer
    transfer.response.headers.clear();
    transfer.response.status = 0;
    const size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      const std::string_view code = line.substr(space + 1, 3);
      std::from_chars(code.data(), code.data() + code.size(), transfer.response.status);
    }
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name(trim(line.substr(0, colon)));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  transfer.response.headers[name] = trim(line.substr(colon + 1));
}

size_t on_header(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  transfer.header_bytes += bytes;
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.refusal = fmt::format("the answer has more than {} bytes of headers", kMaxHeaderBytes);
    return 0;
  }
  try {
    read_header(transfer, {data, bytes});
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 0;
  }
  return bytes;
}

// Returns false to end the transfer.
bool take_body(Transfer& transfer, std::string_view bytes) {
  HttpResponse& response = transfer.response;
  if (*transfer.sink && (response.status == 200 || response.status == 206)) {
    transfer.sink_ended = !(*transfer.sink)(response, as_byte_span(bytes));
    return !transfer.sink_ended;
  }
  if (bytes.size() > transfer.request->max_body - response.body.size()) {
    transfer.refusal = fmt::format("the answer has more than {} bytes", transfer.request->max_body);
    return false;
  }
  response.body += bytes;
  return true;
}

size_t on_body(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    return take_body(transfer, {data, size * count}) ? size * count : 0;
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 0;
  }
}

size_t on_read(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const HttpUpload& upload = *transfer.request->put;
  const auto bytes =
      static_cast<size_t>(std::min<uint64_t>(size * count, upload.size - transfer.sent));
  try {
    upload.read(transfer.sent, std::as_writable_bytes(std::span(data, bytes)));
    transfer.sent += bytes;
    if (upload.progress) upload.progress(transfer.sent);
  } catch (...) {
    transfer.thrown = std::current_exception();
    return CURL_READFUNC_ABORT;
  }
  return bytes;
}

// Called when curl must send the body again, on another connection.
int on_seek(void* user, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(user);
  const bool inside = offset >= 0 && static_cast<uint64_t>(offset) <= transfer.request->put->size;
  if (origin != SEEK_SET || !inside) return CURL_SEEKFUNC_FAIL;
  transfer.sent = static_cast<uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<const Transfer*>(user);
  return cancel_requested() || (transfer.stop != nullptr && transfer.stop->load()) ? 1 : 0;
}

// Opens the socket of a connection to a public address.
curl_socket_t open_public(void* user, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    if (!is_public_address(address->addr)) {
      transfer.refusal = fmt::format("{} is not a public address", address_text(address->addr));
      return CURL_SOCKET_BAD;
    }
  } catch (...) {
    transfer.thrown = std::current_exception();
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype, address->protocol);
}

bool is_final(CURLcode code) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return true;
    default:
      return false;
  }
}

// Returns curl's message for a failed transfer, with advice if there is any.
std::string explain(CURLcode code, const std::string& message, bool has_named_certificates) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return message + " (certificates to trust: CURL_CA_BUNDLE=FILE)";
    case CURLE_SSL_CACERT_BADFILE:
      return message + (has_named_certificates
                            ? " (named by CURL_CA_BUNDLE or the like)"
                            : " (install ca-certificates, or set CURL_CA_BUNDLE=FILE)");
    default:
      return message;
  }
}

// Returns whether no address was found, or not in time.
bool is_unresolved(CURL* curl, CURLcode code) {
  if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY) return true;
  curl_off_t found_after = 0;  // microseconds; 0: not found
  libcurl().getinfo(curl, CURLINFO_NAMELOOKUP_TIME_T, &found_after);
  return code == CURLE_OPERATION_TIMEDOUT && found_after == 0;
}

// Reports a proxy that rejects the request; its answer is not the server's.
void refuse_for_proxy(HttpResponse& response, long status, const std::string& url) {
  response = {};
  response.failure_is_final = status < 500;
  response.failure = fmt::format("the proxy answers {}", status);
  if (status == 407) {
    response.failure +=
        fmt::format(" (Proxy Authentication Required): {}_proxy=http://USER:PASSWORD@HOST:PORT",
                    url.starts_with("https:") ? "https" : "http");
  }
}

}  // namespace

std::optional<std::string> HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

struct HttpClient::Handle {
  CURL* curl = nullptr;
  std::string certificates;
  bool has_named_certificates = false;  // set by the caller
  const std::atomic<bool>* stop;
  std::array<char, CURL_ERROR_SIZE> message{};
};

HttpClient::HttpClient(const std::string& certificates, const std::atomic<bool>* stop)
    : handle_(std::make_unique<Handle>()) {
  static std::once_flag once;  // not thread-safe in old versions
  std::call_once(once, [] { libcurl().global_init(CURL_GLOBAL_DEFAULT); });
  handle_->curl = libcurl().init();
  handle_->certificates = certificates;
  handle_->has_named_certificates = !certificates.empty();
  handle_->stop = stop;
  if (handle_->curl == nullptr) fail(ErrorCode::Internal, "curl cannot be set up");
  if (certificates.empty()) {
    const char* built_in = nullptr;  // stays null before libcurl 7.84, which cannot report it
    libcurl().getinfo(handle_->curl, CURLINFO_CAINFO, &built_in);
    handle_->certificates = other_certificates(built_in);
  }
}

HttpClient::~HttpClient() {
  libcurl().cleanup(handle_->curl);
}

HttpResponse HttpClient::perform(const HttpRequest& request, const BodySink& sink) {
  const Curl& library = libcurl();
  CURL* curl = handle_->curl;
  library.reset(curl);  // resets options; connections are kept
  Transfer transfer{&request, &sink, handle_->stop, {}, 0, 0, false, {}, {}};
  curl_slist* list = nullptr;
  for (const std::string& header : request.headers) {
    curl_slist* longer = library.slist_append(list, header.c_str());
    if (longer == nullptr) {
      library.slist_free_all(list);
      throw std::bad_alloc();
    }
    list = longer;
  }
  handle_->message[0] = '\0';
  const long seconds = static_cast<long>(request.timeout.count());
  library.setopt(curl, CURLOPT_URL, request.url.c_str());
  library.setopt(curl, CURLOPT_HTTPHEADER, list);
  library.setopt(curl, CURLOPT_HEADEROPT, CURLHEADER_SEPARATE);  // sends no headers to a proxy
  // A proxy's answer to CONNECT is not the server's: its redirects are not followed.
  library.setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  library.setopt(curl, CURLOPT_USERAGENT, "pippin");
  library.setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  library.setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  library.setopt(curl, CURLOPT_NOSIGNAL, 1L);
  library.setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  library.setopt(curl, CURLOPT_BUFFERSIZE, kReceiveBuffer);
  library.setopt(curl, CURLOPT_CONNECTTIMEOUT, seconds);
  if (request.may_be_silent) {
    library.setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  } else {
    library.setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kLeastBytesPerSecond);
    library.setopt(curl, CURLOPT_LOW_SPEED_TIME, seconds);
  }
  if (request.deadline.count() > 0) {
    library.setopt(curl, CURLOPT_TIMEOUT, static_cast<long>(request.deadline.count()));
  }
  if (request.only_public) {
    library.setopt(curl, CURLOPT_PROXY, "");
    library.setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_public);
    library.setopt(curl, CURLOPT_OPENSOCKETDATA, &transfer);
  }
  if (!request.post.empty()) {
    library.setopt(curl, CURLOPT_POSTFIELDS, request.post.data());
    library.setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.post.size()));
  }
  if (request.put != nullptr) {
    library.setopt(curl, CURLOPT_UPLOAD, 1L);
    library.setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.put->size));
    library.setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, kSendBuffer);
    library.setopt(curl, CURLOPT_READFUNCTION, on_read);
    library.setopt(curl, CURLOPT_READDATA, &transfer);
    library.setopt(curl, CURLOPT_SEEKFUNCTION, on_seek);
    library.setopt(curl, CURLOPT_SEEKDATA, &transfer);
  }
  if (!request.unix_socket.empty()) {
    library.setopt(curl, CURLOPT_UNIX_SOCKET_PATH, request.unix_socket.c_str());
  }
  library.setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  library.setopt(curl, CURLOPT_HEADERDATA, &transfer);
  library.setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  library.setopt(curl, CURLOPT_WRITEDATA, &transfer);
  library.setopt(curl, CURLOPT_NOPROGRESS, 0L);
  library.setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  library.setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  library.setopt(curl, CURLOPT_ERRORBUFFER, handle_->message.data());
  if (const std::string& path = handle_->certificates; !path.empty()) {
    std::error_code ignored;
    const bool folder = std::filesystem::is_directory(path, ignored);
    library.setopt(curl, CURLOPT_CAINFO, folder ? nullptr : path.c_str());
    library.setopt(curl, CURLOPT_CAPATH, folder ? path.c_str() : nullptr);
  }
  const CURLcode code = library.perform(curl);
  long tunnel = 0;  // a proxy's status for CONNECT
  library.getinfo(curl, CURLINFO_HTTP_CONNECTCODE, &tunnel);
  library.setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  library.slist_free_all(list);

  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  check_cancel();
  HttpResponse& response = transfer.response;
  if (!transfer.refusal.empty()) {
    response.failure = transfer.refusal;
    response.failure_is_final = true;
  } else if (code != CURLE_OK && !transfer.sink_ended) {
    response.failure = explain(
        code, handle_->message[0] != '\0' ? handle_->message.data() : library.strerror(code),
        handle_->has_named_certificates);
    response.failure_is_final = is_final(code);
    response.is_unresolved = is_unresolved(curl, code);
    if (response.is_unresolved) response.failure += " (no network, or a wrong name)";
  }
  if (tunnel >= 300) {
    refuse_for_proxy(response, tunnel, request.url);
  } else if (response.status == 407) {
    refuse_for_proxy(response, 407, request.url);
  }
  return std::move(response);
}

}  // namespace pippin::hub
