"""Muon, an optimiser for weight matrices: momentum whose singular values are all set near one.

Small models learn to copy words from the prompt several times sooner with it than with AdamW.
"""

import torch


def orthogonal(stack):
    """For each matrix of the stack one with the same singular vectors and values near one, by
    Newton and Schulz's iteration with an odd polynomial of fifth degree."""
    x = (stack / (stack.flatten(1).norm(dim=1)[:, None, None] + 1e-7)).bfloat16()
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.transpose(1, 2)
    for _ in range(5):
        square = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return (x.transpose(1, 2) if tall else x).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, parameters, lr, momentum=0.95, weight_decay=0.02):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            shapes = {}
            for parameter in group["params"]:
                shapes.setdefault(parameter.shape, []).append(parameter)
            for shape, parameters in shapes.items():
                moves = []
                for parameter in parameters:
                    state = self.state[parameter]
                    if not state:
                        state["momentum"] = torch.zeros_like(parameter)
                    state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
                    moves.append(parameter.grad.lerp(state["momentum"], group["momentum"]))
                moves = orthogonal(torch.stack(moves)) * max(1, shape[0] / shape[1]) ** 0.5
                for parameter, move in zip(parameters, moves):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    parameter.add_(move, alpha=-group["lr"])
