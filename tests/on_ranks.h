// For tests: a model on several ranks, which are threads.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/pipeline/local_transport.h"
#include "pippin/pipeline/pipeline.h"
#include "pippin/runtime/open/loaded_model.h"

namespace pippin::on_ranks {

using Exchange = std::shared_ptr<pipeline::LocalExchange>;
using Open = std::function<runtime::RunnableModel(const runtime::LoadOptions&)>;
using MakeTransport = std::function<std::unique_ptr<pipeline::Transport>(const Exchange&, int)>;

inline runtime::LoadOptions one_thread() {
  runtime::LoadOptions options;
  options.threads = 1;
  return options;
}

inline std::unique_ptr<pipeline::Transport> make_local(const Exchange& exchange, int rank) {
  return std::make_unique<pipeline::LocalTransport>(exchange, rank);
}

struct Setting {
  runtime::LoadOptions load = one_thread();
  MakeTransport transport = make_local;
  pipeline::Grouping grouping = {};
};

// Runs a rank after 0. Returns the message of the error that ended it, or nothing.
inline std::string serve(const Exchange& exchange, int rank, const Open& open,
                         const Setting& setting) {
  try {
    const auto pipeline =
        pipeline::Pipeline::make(setting.transport(exchange, rank), setting.grouping);
    runtime::LoadOptions options = setting.load;
    options.compute.device = pipeline->device();
    const runtime::RunnableModel model = open(options);
    pipeline->serve();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Calls body(model, pipeline) on rank 0 of `ranks`.
inline void run(int ranks, const Open& open,
                const std::function<void(runtime::Model&, pipeline::Pipeline&)>& body,
                const Setting& setting = {}) {
  const auto exchange = std::make_shared<pipeline::LocalExchange>(ranks);
  std::vector<std::future<std::string>> others;
  for (int rank = 1; rank < ranks; ++rank) {
    others.push_back(std::async(std::launch::async, serve, exchange, rank, open, setting));
  }
  {
    const auto pipeline =
        pipeline::Pipeline::make(setting.transport(exchange, 0), setting.grouping);
    runtime::LoadOptions options = setting.load;
    options.compute.device = pipeline->device();
    const runtime::RunnableModel model = open(options);
    body(*model.model, *pipeline);
  }
  for (auto& other : others) EXPECT_EQ(other.get(), "");
}

}  // namespace pippin::on_ranks
