#include "pippin/http/server.h"

#include <algorithm>
#include <csignal>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/http/connection.h"
#include "pippin/http/loop.h"

namespace pippin::http {

using namespace std::chrono_literals;

class Server::Loop {
 public:
  Loop(const ServerOptions& options, Callbacks callbacks)
      : shared_(std::make_shared<Shared>(options, std::move(callbacks))),
        grace_timer_(shared_->io),
        retry_timer_(shared_->io),
        end_timer_(shared_->io) {
    if (!options.certificate_file.empty()) shared_->tls = make_tls(options);
    for (const Address& address : options.addresses) {
      urls_.emplace_back();
      acceptors_.push_back(listen_at(shared_->io, address, shared_->tls != nullptr, urls_.back()));
    }
    if (options.takes_signals) {
      ends_.emplace(shared_->io, SIGINT, SIGTERM);
      reloads_.emplace(shared_->io, SIGHUP);
    }
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    for (const Address& address : shared_->options.addresses) {
      if (!address.path.empty()) std::remove(address.path.c_str());
    }
  }

  void run() {
    wait_for_end();
    wait_for_reload();
    for (Acceptor& acceptor : acceptors_) accept(acceptor);
    shared_->io.run();
  }

  void stop() {
    asio::post(shared_->io, [this] { stop_here(); });
  }

  const std::vector<std::string>& urls() const { return urls_; }
  int num_connections() const { return shared_->num_connections; }

 private:
  void accept(Acceptor& acceptor) {
    acceptor.async_accept(shared_->io,
                          [this, &acceptor](const ErrorCodeOfIo& error, Socket socket) {
                            if (!acceptor.is_open()) return;
                            if (error) return accept_later(acceptor, error);
                            begin(std::move(socket));
                            accept(acceptor);
                          });
  }

  // For example, no file descriptors are left: other connections must close first.
  void accept_later(Acceptor& acceptor, const ErrorCodeOfIo& error) {
    log_warn("cannot take a connection: {}", error.message());
    retry_timer_.expires_after(100ms);
    retry_timer_.async_wait([this, &acceptor](const ErrorCodeOfIo& cancelled) {
      if (!cancelled && acceptor.is_open()) accept(acceptor);
    });
  }

  void begin(Socket socket) {
    const bool is_full = shared_->num_connections >= shared_->options.max_connections;
    keep_from_children(socket.native_handle());
    std::make_shared<Connection>(*shared_, std::move(socket))->start(is_full);
  }

  void wait_for_end() {
    if (!ends_) return;
    ends_->async_wait([this](const ErrorCodeOfIo& error, int) {
      if (error) return;
      wait_for_end();
      stop_here();
    });
  }

  void wait_for_reload() {
    if (!reloads_) return;
    reloads_->async_wait([this](const ErrorCodeOfIo& error, int) {
      if (error) return;
      reload();
      wait_for_reload();
    });
  }

  // If the new files cannot be read, the old certificate stays.
  void reload() {
    try {
      if (shared_->tls != nullptr) shared_->tls = make_tls(shared_->options);
    } catch (const Error& error) {
      log_warn("the certificate stays as it was: {}", error.what());
    }
    if (shared_->callbacks.reload) shared_->callbacks.reload();
  }

  void stop_here() {
    if (std::exchange(shared_->is_stopping, true)) return cut();
    // Clients waiting at a socket of the service manager are left for the next process.
    for (size_t i = 0; i < acceptors_.size(); ++i) {
      if (shared_->options.addresses[i].inherited >= 0) close(acceptors_[i]);
    }
    if (shared_->callbacks.stopping) shared_->callbacks.stopping();
    for (const auto& connection : all()) connection->stop();
    grace_timer_.expires_after(shared_->options.grace);
    grace_timer_.async_wait([this](const ErrorCodeOfIo& error) {
      if (!error) cut();
    });
    end_when_empty();
  }

  static void close(Acceptor& acceptor) {
    ErrorCodeOfIo ignored;
    acceptor.close(ignored);
  }

  void cut() {
    for (Acceptor& acceptor : acceptors_) close(acceptor);
    for (const auto& connection : all()) connection->drop_connection();
    grace_timer_.cancel();
  }

  // Late connections are accepted while there are others. Afterwards, acceptors, signals and timers
  // would keep run() going, so they are closed.
  void end_when_empty() {
    const auto connections = all();
    const bool is_done = std::all_of(connections.begin(), connections.end(),
                                     [](const auto& one) { return one->is_late(); });
    if (is_done) {
      for (Acceptor& acceptor : acceptors_) close(acceptor);
    }
    if (shared_->num_connections == 0) {
      grace_timer_.cancel();
      retry_timer_.cancel();
      if (ends_) ends_->cancel();
      if (reloads_) reloads_->cancel();
      return;
    }
    end_timer_.expires_after(10ms);
    end_timer_.async_wait([this](const ErrorCodeOfIo& error) {
      if (!error) end_when_empty();
    });
  }

  std::vector<std::shared_ptr<Connection>> all() const {
    std::vector<std::shared_ptr<Connection>> result;
    for (Connection* connection : shared_->connections) {
      if (auto kept = connection->weak_from_this().lock()) result.push_back(std::move(kept));
    }
    return result;
  }

  const std::shared_ptr<Shared> shared_;
  std::vector<Acceptor> acceptors_;
  std::vector<std::string> urls_;
  std::optional<asio::signal_set> ends_, reloads_;
  asio::steady_timer grace_timer_, retry_timer_, end_timer_;
};

Server::Server(const ServerOptions& options, Callbacks callbacks)
    : loop_(std::make_unique<Loop>(options, std::move(callbacks))) {}

Server::~Server() = default;

void Server::run() {
  loop_->run();
}

void Server::stop() {
  loop_->stop();
}

std::vector<std::string> Server::urls() const {
  return loop_->urls();
}

int Server::num_connections() const {
  return loop_->num_connections();
}

}  // namespace pippin::http
