"""A pretended second device, on which tests see which tensors follow the network.

Its tensors say that they are on torch's device "meta", where no numbers are, but hold
their numbers on the CPU. An operation on tensors of both devices is refused, as between
a CPU and a GPU.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("meta")
CPU = torch.device("cpu")
aten = torch.ops.aten
# operations that take index tensors from the CPU, also where the others are on a GPU
WITH_INDICES = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default}


class Elsewhere(torch.Tensor):
    """A tensor on the pretended device; `held` has its numbers."""

    @staticmethod
    def __new__(cls, real: torch.Tensor):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            real.shape,
            strides=real.stride(),
            storage_offset=real.storage_offset(),
            dtype=real.dtype,
            device=DEVICE,
        )

    def __init__(self, real: torch.Tensor):
        self.held = real

    def __deepcopy__(self, memo):
        copied = Elsewhere(self.held.clone()).requires_grad_(self.requires_grad)
        copied = (
            nn.Parameter(copied, self.requires_grad)
            if hasattr(self, "_is_param")
            else copied
        )
        memo[id(self)] = copied
        return copied

    def __repr__(self):
        return f"Elsewhere({self.held!r})"

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return _run(function, args, kwargs or {})


class _Operations(TorchDispatchMode):
    """Makes new tensors, and copies of tensors, on the pretended device."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return _run(function, args, kwargs or {})


class _Constants(TorchFunctionMode):
    """Makes tensors of Python's numbers on the device, which torch drops for "meta"."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
        if function in (torch.tensor, torch.as_tensor) and device is not None:
            kwargs.pop("device")
            return function(*args, **kwargs).to(device)
        return function(*args, **kwargs)


@contextmanager
def pretended_device() -> Iterator[None]:
    """Allow tensors on the pretended device within a `with` block."""
    with _Operations(), _Constants():
        yield


def _run(function: Callable, args: tuple, kwargs: dict):
    """Compute an operation's numbers on the CPU, and say where its results are."""
    tensors = [
        one for one in tree_flatten((args, kwargs))[0] if isinstance(one, torch.Tensor)
    ]
    elsewhere = [one for one in tensors if isinstance(one, Elsewhere)]
    copies = function in (aten._to_copy.default, aten.copy_.default)
    if elsewhere and not copies and function not in WITH_INDICES:
        here = [one for one in tensors if not isinstance(one, Elsewhere) and one.ndim]
        if here:
            raise RuntimeError(
                f"{function} mixes devices: {tuple(here[0].shape)} is on the CPU"
            )
    device, at_home = kwargs.get("device"), bool(elsewhere)
    if device is not None:
        at_home = torch.device(device) == DEVICE
        kwargs = kwargs | {"device": CPU}
    if function is aten.copy_.default:
        at_home = isinstance(args[0], Elsewhere)
    reals = tree_map(
        lambda one: one.held if isinstance(one, Elsewhere) else one, (args, kwargs)
    )
    result = function(*reals[0], **reals[1])
    if (
        function._schema.is_mutable
        and tensors
        and not isinstance(result, tuple | list | None)
    ):
        return args[0]  # an operation in place gives the tensor itself
    wrap = lambda one: Elsewhere(one) if isinstance(one, torch.Tensor) else one  # noqa: E731
    return tree_map(wrap, result) if at_home else result


def moved(module: nn.Module) -> nn.Module:
    """A copy of a module on the pretended device."""
    with pretended_device():
        return copy.deepcopy(module).to(DEVICE)
