// The base of launchers of fused nodes.
#pragma once

#include <vector>

#include "pippin/cuda/launchers/launcher.h"

namespace pippin::cuda {

// Launches the parts one after another, unless a derived class has one launch for all.
class PartsLauncher : public Launcher {
 public:
  PartsLauncher(const engine::FusedNode& node, std::vector<LauncherPointer> parts)
      : node_(node), parts_(std::move(parts)) {}

  void add(const LaunchContext& context, std::vector<Launch>& launches) const final;
  int64_t scratch_bytes() const override;
  int64_t scratch_bytes_of(int64_t rows) const override;
  int64_t weight_bytes() const override;

 protected:
  using Operands = std::vector<engine::Operand>;

  // False: the operands do not allow it. `parts` are the operands of each part; `scratch` has what
  // the parts need.
  virtual bool add_fused(const std::vector<Operands>& parts, std::byte* scratch,
                         std::vector<Launch>& launches) const = 0;

  const engine::FusedNode& node_;

 private:
  const std::vector<LauncherPointer> parts_;
};

LauncherPointer make_fused_dot(const engine::FusedNode& node, std::vector<LauncherPointer> parts,
                               const LauncherSource& source);
LauncherPointer make_parallel_moves(const engine::FusedNode& node,
                                    std::vector<LauncherPointer> parts);

// Whether both may have a byte of memory in common.
bool may_overlap(const engine::Operand& a, const engine::Operand& b);

}  // namespace pippin::cuda
