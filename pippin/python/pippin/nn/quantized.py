"""Layers whose weights are packed in a few bits, in groups along the last axis (mx.quantize)."""

from __future__ import annotations

import math
from typing import Any, Callable

from .. import core as mx
from ..utils import tree_map_with_path
from .module import Module

_DEFAULTS = {"affine": (64, 4), "mxfp4": (32, 4), "mxfp8": (32, 8), "nvfp4": (16, 4)}


def quantize(model: Module, group_size: int | None = None, bits: int | None = None, *, mode: str = "affine",
             quantize_input: bool = False,
             class_predicate: Callable[[str, Any], bool | dict[str, Any]] | None = None) -> None:
    """Replaces the layers of `model` that have to_quantized() (linear layers and embeddings) by its result.

    class_predicate(path, layer) chooses: False keeps a layer, True quantizes it, a dict quantizes it with other
    arguments."""
    choose = class_predicate or (lambda path, layer: hasattr(layer, "to_quantized"))
    common = {"group_size": group_size, "bits": bits, "mode": mode}
    if quantize_input:
        common["quantize_input"] = True

    def changed(path: str, layer: Any) -> Any:
        chosen = choose(path, layer)
        if not chosen:
            return layer
        if not hasattr(layer, "to_quantized"):
            raise ValueError(f"quantize: {path} is a {type(layer).__name__}, which cannot be quantized")
        if not isinstance(chosen, (bool, dict)):
            raise ValueError(f"quantize: class_predicate gave a {type(chosen).__name__} for {path}, no bool or dict")
        return layer.to_quantized(**(chosen if isinstance(chosen, dict) else common))

    model.update_modules(tree_map_with_path(changed, model.leaf_modules(), is_leaf=Module.is_module))


class _Quantized(Module):
    """The base class: packed weight, scales and (in the affine mode) biases of the groups."""

    def __init__(self, group_size: int | None, bits: int | None, mode: str) -> None:
        super().__init__()
        if mode not in _DEFAULTS:
            raise ValueError(f"quantize: the mode {mode!r} is not one of {', '.join(_DEFAULTS)}")
        group, width = _DEFAULTS[mode]
        self.group_size, self.bits, self.mode = group_size or group, bits or width, mode

    def _pack(self, weight: mx.array) -> None:
        self.weight, self.scales, *biases = mx.quantize(weight, self.group_size, self.bits, mode=self.mode)
        if biases:
            self.biases = biases[0]

    def _times(self, x: mx.array) -> mx.array:
        return mx.quantized_matmul(x, self["weight"], self["scales"], self.get("biases"), transpose=True,
                                   group_size=self.group_size, bits=self.bits, mode=self.mode)

    def _settings(self) -> str:
        return f"group_size={self.group_size}, bits={self.bits}, mode={self.mode}"


class QuantizedLinear(_Quantized):
    """Linear with a packed weight. Its parameters are frozen."""

    def __init__(self, input_dims: int, output_dims: int, bias: bool = True, group_size: int | None = None,
                 bits: int | None = None, mode: str = "affine") -> None:
        super().__init__(group_size, bits, mode)
        bound = math.sqrt(1.0 / input_dims)
        self._pack(mx.random.uniform(-bound, bound, (output_dims, input_dims)))
        if bias:
            self.bias = mx.zeros((output_dims,))
        self.freeze()

    @classmethod
    def from_linear(cls, linear_layer: Any, group_size: int | None = None, bits: int | None = None,
                    mode: str = "affine") -> QuantizedLinear:
        """The layer with its weight packed."""
        made = cls.__new__(cls)
        _Quantized.__init__(made, group_size, bits, mode)
        made._pack(linear_layer.weight)
        if "bias" in linear_layer:
            made.bias = linear_layer.bias
        made.freeze()
        return made

    def _extra_repr(self) -> str:
        rows, columns = self.weight.shape
        return (f"input_dims={columns * 32 // self.bits}, output_dims={rows}, bias={'bias' in self}, "
                + self._settings())

    def __call__(self, x: mx.array) -> mx.array:
        y = self._times(x)
        return y + self["bias"] if "bias" in self else y


class QuantizedEmbedding(_Quantized):
    """Embedding with a packed table. Its parameters are frozen."""

    def __init__(self, num_embeddings: int, dims: int, group_size: int | None = None, bits: int | None = None,
                 mode: str = "affine") -> None:
        super().__init__(group_size, bits, mode)
        self.num_embeddings, self.dims = num_embeddings, dims
        self._pack(mx.random.normal((num_embeddings, dims), scale=math.sqrt(1 / dims)))
        self.freeze()

    @classmethod
    def from_embedding(cls, embedding_layer: Any, group_size: int | None = None, bits: int | None = None,
                       mode: str = "affine") -> QuantizedEmbedding:
        """The layer with its table packed."""
        made = cls.__new__(cls)
        _Quantized.__init__(made, group_size, bits, mode)
        made.num_embeddings, made.dims = embedding_layer.weight.shape
        made._pack(embedding_layer.weight)
        made.freeze()
        return made

    def _extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.dims}, " + self._settings()

    def __call__(self, x: mx.array) -> mx.array:
        biases = self.get("biases")
        return mx.dequantize(self["weight"][x], self["scales"][x], None if biases is None else biases[x],
                             group_size=self.group_size, bits=self.bits, mode=self.mode)

    def as_linear(self, x: mx.array) -> mx.array:
        """x times the table: the scores of its rows, for models whose output shares the embedding."""
        return self._times(x)


class QQLinear(_Quantized):
    """Linear, without a bias, whose input is rounded to the weight's type: the modes nvfp4 and mxfp8.

    The weight is packed in evaluation mode and plain in training mode: eval() and train() convert it."""

    def __init__(self, input_dims: int, output_dims: int, group_size: int | None = None, bits: int | None = None,
                 mode: str = "nvfp4") -> None:
        super().__init__(group_size, bits, mode)
        bound = math.sqrt(1.0 / input_dims)
        self.weight = mx.random.uniform(-bound, bound, (output_dims, input_dims))

    @classmethod
    def from_linear(cls, linear_layer: Any, group_size: int | None = None, bits: int | None = None,
                    mode: str = "nvfp4") -> QQLinear:
        """The layer, in its mode of training or evaluation. Raises NotImplementedError for a layer with a bias."""
        if "bias" in linear_layer:
            raise NotImplementedError("QQLinear: layers with a bias are not supported")
        made = cls.__new__(cls)
        _Quantized.__init__(made, group_size, bits, mode)
        made.weight = linear_layer.weight
        made.train(linear_layer.training)
        return made

    def _extra_repr(self) -> str:
        rows, columns = self.weight.shape
        return f"input_dims={columns * 32 // self.bits if 'scales' in self else columns}, output_dims={rows}, " + (
            self._settings())

    def quantize(self) -> None:
        """Packs the weight, unless it is packed."""
        if "scales" not in self:
            self._pack(self.weight)

    def dequantize(self) -> None:
        """Makes the weight plain, unless it is."""
        if "scales" in self:
            self.weight = mx.dequantize(self.weight, self.scales, group_size=self.group_size, bits=self.bits,
                                        mode=self.mode)
            del self.scales

    def _set_training_mode(self, mode: bool) -> None:
        super()._set_training_mode(mode)
        if mode:
            self.dequantize()
        else:
            self.quantize()

    def __call__(self, x: mx.array) -> mx.array:
        return mx.qqmm(x, self["weight"], self.get("scales"), group_size=self.group_size, bits=self.bits,
                       mode=self.mode)
