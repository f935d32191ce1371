"""MLX's optimizers, which Pippin does not have: each raises an error of one line when it is called.

>>> import pippin.optimizers as optim
>>> optim.Adam.__doc__
'Not supported: models are not trained.'
"""

from .core._refused import refusal

_WHY = "models are not trained"
AdaDelta = refusal("optimizers.AdaDelta", _WHY)
Adafactor = refusal("optimizers.Adafactor", _WHY)
Adagrad = refusal("optimizers.Adagrad", _WHY)
Adam = refusal("optimizers.Adam", _WHY)
AdamW = refusal("optimizers.AdamW", _WHY)
Adamax = refusal("optimizers.Adamax", _WHY)
Lion = refusal("optimizers.Lion", _WHY)
MultiOptimizer = refusal("optimizers.MultiOptimizer", _WHY)
Muon = refusal("optimizers.Muon", _WHY)
Optimizer = refusal("optimizers.Optimizer", _WHY)
RMSprop = refusal("optimizers.RMSprop", _WHY)
SGD = refusal("optimizers.SGD", _WHY)
clip_grad_norm = refusal("optimizers.clip_grad_norm", _WHY)
cosine_decay = refusal("optimizers.cosine_decay", _WHY)
exponential_decay = refusal("optimizers.exponential_decay", _WHY)
join_schedules = refusal("optimizers.join_schedules", _WHY)
linear_schedule = refusal("optimizers.linear_schedule", _WHY)
step_decay = refusal("optimizers.step_decay", _WHY)

__all__ = [
    "AdaDelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "MultiOptimizer", "Muon", "Optimizer",
    "RMSprop", "SGD", "clip_grad_norm", "cosine_decay", "exponential_decay", "join_schedules", "linear_schedule",
    "step_decay",
]
