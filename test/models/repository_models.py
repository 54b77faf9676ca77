# SPDX-License-Identifier: Apache-2.0
"""What repositories_*.py define: models of public repositories with the losses
of their own training scripts.

A definition gets the Checkout of its repository and returns a Step, which is the
module that computes the loss, and a function that makes a micro-batch. Sizes
are small; layers, losses and their order are the repository's. Where a training
script holds the loss in its loop, the definition repeats those lines. Every
definition runs in a process of its own: repositories share names (`models`,
`utils`), and some need stand-ins for packages that training does not touch.
"""

import ast
import dataclasses
import importlib.machinery
import importlib.util
import math
import pathlib
import sys
import types
from unittest import mock

import torch
from torch import nn
from torch.nn import functional as F

# Plots, downloads, logs and metrics: nothing that a loss is computed from.
ABSENT = {"accelerate", "ema_pytorch", "gensim", "h5py", "imageio", "librosa",
          "lmdb", "matplotlib", "monotonic_align", "nirtorch", "onnx",
          "pandas", "pytorch_fid", "requests", "sacred", "skimage",
          "tensorboardX", "tensorflow", "tensorflow_gan", "torch_geometric",
          "visdom", "wandb", "zencfg"}


class Namespace(types.SimpleNamespace):
    """A configuration, read by attribute or asked by name."""

    def __contains__(self, name):
        return hasattr(self, name)


@dataclasses.dataclass
class Definition:
    repository: str
    commit: str
    field: str
    model: str
    factory: object
    note: str  # what it does otherwise than the repository


REPOSITORIES = {}  # name -> Definition


def repository(name, commit, field, model, note=""):
    def add(factory):
        key = factory.__name__.replace("_", "-")
        REPOSITORIES[key] = Definition(name, commit, field, model, factory, note)
        return factory
    return add


class Step(nn.Module):
    """A training step up to its loss: `step(model, *inputs)`. Options are what
    train_reference and repositories.py read of a module."""

    def __init__(self, model, step, **options):
        super().__init__()
        self.model, self._step = model, step
        for name, value in options.items():
            setattr(self, name, value)

    def forward(self, *inputs):
        return self._step(self.model, *inputs)


class Stand(importlib.machinery.ModuleSpec):
    """Loads a module of which every name is a mock."""

    def __init__(self, name):
        super().__init__(name, self, is_package=True)

    def create_module(self, spec):
        module = mock.MagicMock(name=spec.name)
        module.__path__, module.__spec__, module.__name__ = [], spec, spec.name
        return module

    def exec_module(self, module):
        pass


class AbsentPackages:
    """Finds ABSENT where they are not installed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        return Stand(name) if name.partition(".")[0] in ABSENT else None


class Checkout:
    """The files of a repository."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def use(self, *folders):
        """Imports from these folders, the first one first."""
        sys.path[:0] = [str(self.path / folder) for folder in folders or ("",)]

    def module(self, file):
        """The module of one file."""
        name = "checkout_" + "".join(
            letter if letter.isalnum() else "_" for letter in file)
        spec = importlib.util.spec_from_file_location(name, self.path / file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    def package(self, name, folder):
        """Makes a package of a folder without its __init__.py, which imports
        more than the model."""
        package = types.ModuleType(name)
        package.__path__ = [str(self.path / folder)]
        sys.modules[name] = package
        return package

    def pick(self, file, *names, **scope):
        """A namespace of functions and classes of a script, which is not run."""
        tree = ast.parse((self.path / file).read_text())
        wanted = [node for node in tree.body
                  if getattr(node, "name", None) in names]
        found = {"torch": torch, "nn": nn, "F": F, "math": math, **scope}
        exec(compile(ast.Module(wanted, []), file, "exec"), found)
        return Namespace(**{name: found[name] for name in names})


def stand_in(name, **attributes):
    """Puts a module of mocks in the place of one that is installed."""
    module = Stand(name).create_module(Stand(name))
    for key, value in attributes.items():
        setattr(module, key, value)
    sys.modules[name] = module
    return module


def without_dropout(module):
    for child in module.modules():
        if isinstance(child, nn.modules.dropout._DropoutNd):
            child.p = 0.0
        elif isinstance(child, (nn.MultiheadAttention, nn.RNNBase)):
            child.dropout = 0.0
    return module


def without_cuda():
    """Makes .cuda() leave tensors and modules where they are."""
    for kind in (torch.Tensor, nn.Module):
        kind.cuda = lambda self, *arguments, **options: self


class SameDraws:
    """Stands for a module's `torch`: every draw is the same numbers, so that the
    reference and the compiled step see the same."""

    def __getattr__(self, name):
        return getattr(torch, name)

    @staticmethod
    def numbers(shape):
        count = torch.arange(math.prod(shape), dtype=torch.get_default_dtype())
        return torch.sin(count * 12.9898 + 1).reshape(shape) * 1.3

    @staticmethod
    def _shape(sizes):
        return tuple(sizes) if isinstance(sizes[0], int) else tuple(sizes[0])

    def randn(self, *sizes, **options):
        return self.numbers(self._shape(sizes))

    def rand(self, *sizes, **options):
        return self.numbers(self._shape(sizes)) * 0.38 + 0.5

    def randn_like(self, x, **options):
        return self.numbers(x.shape).to(x.dtype)

    def rand_like(self, x, **options):
        return (self.numbers(x.shape) * 0.38 + 0.5).to(x.dtype)

    def randint(self, low, high, size, **options):
        share = self.numbers(tuple(size)) * 0.38 + 0.5
        return (share * (high - low)).long() + low


def with_same_draws(*modules):
    """Makes these modules, and distributions, draw the same numbers."""
    for module in modules:
        module.torch = SameDraws()
    torch.distributions.normal._standard_normal = (
        lambda shape, dtype, device: SameDraws.numbers(tuple(shape)).to(dtype))


def without_kept_results(module):
    """Detaches the tensors that a forward left in attributes, as weight_norm
    does: only leaves can be copied."""
    for child in module.modules():
        for name, value in vars(child).items():
            if isinstance(value, torch.Tensor):
                vars(child)[name] = value.detach()
    return module
