// A model that is larger than one machine: its layers run as a pipeline over the ranks of a
// transport.
//
// Every rank opens the same model with the device of its Pipeline, and makes the same plans; each
// keeps only its own stage of a plan (cut.h), the weights of that stage and the rows of states that
// it touches. Then rank 0 uses the model as any other, and the others carry out its commands in
// serve(). Values pass from rank to rank. Rank 0 waits only when it reads an output, so that pieces
// of a prompt, and steps of several groups of sequences, follow each other through the ranks.
//
// Several ranks can form a group that computes a stage together (engine/run/peers.h): each has a
// part of the columns of every product, and of the heads of attention, and all rows of states.
//
// Each rank runs the nodes of the plan of one process, in their order: results have the same bits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/engine/device.h"
#include "pippin/engine/run/peers.h"
#include "pippin/pipeline/answers.h"
#include "pippin/pipeline/commands.h"
#include "pippin/pipeline/cut.h"
#include "pippin/pipeline/owners.h"
#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

class PipelinePlan;
class PipelineExecution;

struct Grouping {
  int width = 1;                          // ranks of each group
  int64_t least_work = int64_t{1} << 19;  // multiplications of a step that a group divides
};

class Pipeline : public std::enable_shared_from_this<Pipeline> {
 public:
  // Ends the job if the ranks' processors differ: kernels would. Throws InvalidArgument if the
  // number of ranks cannot be divided by the width.
  static std::shared_ptr<Pipeline> make(std::unique_ptr<Transport> transport,
                                        const Grouping& grouping = {});
  // On rank 0, ends the others.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }
  bool is_root() const { return rank() == 0; }
  int width() const { return grouping_.width; }
  int groups() const { return size() / width(); }
  int group() const { return rank() / width(); }
  // The first rank of a group, which rank 0 asks.
  int leader(int group) const { return group * width(); }
  // Whether a group has ranks besides rank 0.
  bool has_others(int group) const { return group > 0 || width() > 1; }
  // The ranks of this one's group; null: it is alone.
  const std::shared_ptr<engine::Peers>& peers() const { return peers_; }
  // The device for ComputeOptions.
  std::shared_ptr<engine::Device> device();
  // Of the other ranks, when the model is open: carries out commands until rank 0 ends.
  void serve();
  // Of the other ranks: ends the job because of an Error here. Returns if rank 0 ends it, which
  // often has the same.
  void end_job(const Error& error);

  // The messages that rank 0 sent, by kind, and the bytes of values that passed from here.
  struct Traffic {
    uint64_t commands = 0, replies = 0, values = 0, value_bytes = 0;
    uint64_t parts = 0, part_bytes = 0;  // of results, to other ranks of the group
  };
  Traffic traffic() const;

  // --- for its plans, executions and states ---

  std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model, std::string_view function,
                                                const engine::PlanOptions& options, Groups groups);
  uint32_t add(const PipelinePlan& plan, PipelineExecution& execution, ThreadPool& pool);
  void remove(uint32_t execution);
  uint64_t next_state() { return ++last_state_; }
  // Of a state, by slice of the first axis; empty: unknown.
  std::vector<int> owners_of(const std::string& state) const;

  void command(int to, Message message);
  void command_all(const Message& message);
  // To all ranks of a group but rank 0.
  void command_group(int group, const Message& message);
  // Sends a command and waits for its answer. Throws the rank's Error.
  Message ask(int rank, Message question);
  // The same in two parts. The caller of the first one holds the turn.
  std::shared_ptr<Answer> ask_ahead(int rank, Message question);
  Message answer_of(const std::shared_ptr<Answer>& answer);
  // Held while a run's commands or a question are sent: all ranks get runs in the same order.
  std::unique_lock<std::mutex> take_turn() { return std::unique_lock(turn_); }
  // To and from the rank of another group with this one's place.
  void pass(int group, Message values);
  Message values_of(int group) {
    return transport_->receive(leader(group) + rank() % width(), Channel::Values);
  }
  // Between the ranks of a group (Transport::exchange()).
  std::vector<Message> exchange(std::span<const int> others, const Message& own);
  engine::State& state(uint64_t id);  // of other ranks
  // Of the last rank: a run with this state has failed. The first Error is kept until rank 0 reads
  // an output of the state, or the state is reset. States with copies of its rows have it too.
  void keep_failure(uint64_t state, const Error& error) { failures_.try_emplace(state, error); }
  void throw_failure(uint64_t state);

 private:
  Pipeline(std::unique_ptr<Transport> transport, const Grouping& grouping);
  void carry_out(ByteSpan message);
  void carry_out_on_state(Command command, ByteReader& message);
  void copy_failure(uint64_t from, uint64_t to);
  void make_plan_again(ByteReader& message);
  void make_execution_again(ByteReader& message);
  PipelineExecution& execution(uint32_t id);
  void answer(const std::function<Message()>& body);

  const std::unique_ptr<Transport> transport_;
  const Grouping grouping_;
  std::shared_ptr<engine::Peers> peers_;
  Answers answers_;
  std::mutex turn_;
  mutable std::mutex mutex_;                               // of the members below
  std::vector<const mil::Model*> models_;                  // in the order of their first plans
  std::vector<std::vector<Border>> borders_;               // by model
  std::vector<std::weak_ptr<const PipelinePlan>> plans_;   // by id
  std::vector<PipelineExecution*> executions_;             // by id; null: gone
  std::vector<std::shared_ptr<const engine::Plan>> kept_;  // plans made by commands
  std::vector<std::unique_ptr<engine::Execution>> made_;   // executions made by commands
  std::map<uint64_t, engine::State> states_;
  std::map<uint64_t, Error> failures_;  // by state
  Owners owners_;
  ThreadPool* pool_ = nullptr;
  engine::ComputeOptions compute_;
  std::atomic<uint64_t> last_state_ = 0;
  Traffic traffic_;
};

}  // namespace pippin::pipeline
