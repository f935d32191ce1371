"""Layers and models based on pippin.core, with the names and semantics of MLX's nn.

>>> from pippin import core as mx, nn
>>> mlp = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
>>> mlp(mx.ones((3, 4))).shape
(3, 2)
>>> mlp
Sequential(
  (layers.0): Linear(input_dims=4, output_dims=8, bias=True)
  (layers.1): ReLU()
  (layers.2): Linear(input_dims=8, output_dims=2, bias=True)
)
"""

from ..core._refused import refusal
from . import init, losses
from .activations import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    HardShrink,
    Hardswish,
    HardTanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU2,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Step,
    Tanh,
    celu,
    elu,
    gelu,
    gelu_approx,
    gelu_fast_approx,
    glu,
    hard_shrink,
    hard_tanh,
    hardswish,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    mish,
    prelu,
    relu,
    relu2,
    relu6,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    step,
    tanh,
)
from .cache import FixedCache, KVCache
from .containers import Sequential
from .convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .decoder import Decoder
from .dropout import Dropout, Dropout2d, Dropout3d
from .linear import Bilinear, Embedding, Identity, Linear
from .module import Module
from .normalization import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm
from .pooling import AvgPool1d, AvgPool2d, AvgPool3d, MaxPool1d, MaxPool2d, MaxPool3d
from .positional_encoding import ALiBi, RoPE, SinusoidalPositionalEncoding
from .pretrained import from_pretrained
from .quantized import QQLinear, QuantizedEmbedding, QuantizedLinear, quantize
from .recurrent import GRU, LSTM, RNN
from .transformer import (
    MultiHeadAttention,
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from .upsample import Upsample

value_and_grad = refusal("nn.value_and_grad", "arrays are not differentiated")

__all__ = [
    "ALiBi", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BatchNorm", "Bilinear", "CELU", "Conv1d", "Conv2d", "Conv3d",
    "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Decoder", "Dropout", "Dropout2d", "Dropout3d", "ELU",
    "Embedding", "FixedCache", "GELU", "GLU", "GRU", "GroupNorm", "HardShrink", "HardTanh", "Hardswish", "Identity",
    "InstanceNorm", "KVCache", "LSTM", "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "Mish", "Module", "MultiHeadAttention", "PReLU", "QQLinear", "QuantizedEmbedding",
    "QuantizedLinear", "RMSNorm", "RNN", "ReLU", "ReLU2", "ReLU6", "RoPE", "SELU", "Sequential", "SiLU", "Sigmoid",
    "SinusoidalPositionalEncoding", "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "Step", "Tanh",
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
    "Upsample", "celu", "elu", "from_pretrained", "gelu", "gelu_approx", "gelu_fast_approx", "glu", "hard_shrink",
    "hard_tanh", "hardswish", "init", "leaky_relu", "log_sigmoid", "log_softmax", "losses", "mish", "prelu",
    "quantize", "relu", "relu2", "relu6", "selu", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink",
    "softsign", "step", "tanh", "value_and_grad",
]
