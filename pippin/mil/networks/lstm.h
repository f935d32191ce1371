// One direction of an LSTM layer.
#pragma once

#include <vector>

#include "pippin/mil/networks/network.h"
#include "pippin/mil/networks/recurrent_steps.h"

namespace pippin::mil::networks {

// The messages, or functions without parameters of these fields if there are none. Throws
// InvalidFile for another number of messages.
std::vector<Fields> activations_or(std::vector<Fields> messages,
                                   const std::vector<uint32_t>& absent);

class LstmLayer {
 public:
  // Reads the parameters that uniDirectionalLSTM and biDirectionalLSTM have in common.
  explicit LstmLayer(const Fields& parameters);

  // The outputs, the last h and the last c; `run` has x, h and c.
  std::vector<Var*> run(Network& network, const Fields& weights, std::vector<Fields> functions,
                        Run run, bool reverse) const;

  const int64_t inputs, outputs;
  const bool sequence;

 private:
  std::vector<Var*> run_op(Network& network, const Fields& weights,
                           const std::vector<std::string>& names, const Run& run) const;
  std::vector<Var*> run_loop(Network& network, const Fields& weights,
                             const std::vector<Fields>& functions, const Run& run) const;
  std::vector<float> bias(Network& network, const Fields& weights, const Field& field,
                          bool of_forget_gate) const;

  const bool biased_, forget_bias_, peepholes_, coupled_;
  const float clip_;
};

}  // namespace pippin::mil::networks
