# SPDX-License-Identifier: Apache-2.0
"""Makes torch.export trace what it does not by itself.

PyTorch (2.15) has no shapes for the operator behind ctc_loss, which returns the
probabilities of all states beside the loss: their number depends on the longest
target. A program for training needs the loss alone.

A batch norm with momentum=None takes the mean of all batches' statistics: it
reads how many there were from a tensor, whose value no trace has.

The loss of normal distributions raises by a branch where a variance is negative.

`torch._foreach_mul_` and its like are one operator for a list of tensors; an
export has the operator of each.
"""

import contextlib
from unittest import mock

import torch
from torch._subclasses import fake_impls
from torch.nn import functional
from torch.nn.modules import batchnorm

CTC_LOSSES = [torch.ops.aten._ctc_loss.default, torch.ops.aten._ctc_loss.Tensor]


def ctc_loss_shapes(mode, _operator, log_probs, *_arguments, **_keyword):
    samples = log_probs.shape[1:-1]
    with mode:
        return (log_probs.new_empty(samples),
                log_probs.new_empty((*samples, log_probs.shape[0], 1)))


def ctc_loss_of_tensors(original):
    """Lists of lengths would be looked up in tensors without data."""
    def ctc_loss(log_probs, targets, input_lengths, target_lengths, *arguments,
                 **keyword):
        lengths = [value if isinstance(value, torch.Tensor)
                   else torch.tensor(value, dtype=torch.long)
                   for value in (input_lengths, target_lengths)]
        return original(log_probs, targets, *lengths, *arguments, **keyword)
    return ctc_loss


def cumulative(original):
    """The forward of a batch norm, computing with the number of batches."""
    def forward(self, input):
        if not (self.training and self.track_running_stats and self.momentum is None):
            return original(self, input)
        self._check_input_dim(input)
        running = self.running_mean, self.running_var
        of_batch = [statistic.clone() for statistic in running]
        result = functional.batch_norm(input, *of_batch, self.weight, self.bias,
                                       training=True, momentum=1.0, eps=self.eps)
        self.num_batches_tracked.add_(1)
        for statistic, new in zip(running, of_batch):
            statistic.add_((new - statistic) / self.num_batches_tracked)
        return result
    return forward


def gaussian_nll_loss_that_asserts(original):
    def gaussian_nll_loss(input, target, var, *arguments, **keyword):
        if isinstance(var, torch.Tensor):
            torch._assert_async((var >= 0).all(), "var has negative entry/entries")
        with mock.patch.object(torch, "any", lambda *_: False):
            return original(input, target, var, *arguments, **keyword)
    return gaussian_nll_loss


FOREACH = [name for name in dir(torch) if name.startswith("_foreach_")
           and hasattr(torch.Tensor, name.removeprefix("_foreach_").rstrip("_"))]


def for_one(method, tensor, arguments, keyword):
    """What _foreach_`method` does with one tensor of its list."""
    plain = method.removesuffix("_")
    if plain == "norm":
        return torch.linalg.vector_norm(tensor, *arguments, **keyword)
    if plain in ("maximum", "minimum") and not isinstance(arguments[0], torch.Tensor):
        method = method.replace(plain, {"maximum": "clamp_min",
                                        "minimum": "clamp_max"}[plain])
    elif plain in ("maximum", "minimum"):
        largest = getattr(torch, plain)(tensor, *arguments)
        return tensor.copy_(largest) if method != plain else largest
    elif plain in ("addcmul", "addcdiv") and len(arguments) == 3:
        *arguments, keyword["value"] = arguments
    return getattr(tensor, method)(*arguments, **keyword)


def for_each(name, original):
    method = name.removeprefix("_foreach_")

    def foreach(tensors, *arguments, **keyword):
        if not isinstance(tensors, (list, tuple)) or any(
                isinstance(value, torch.Tensor) for value in arguments[2:]):
            return original(tensors, *arguments, **keyword)

        def of(index):
            return [value[index] if isinstance(value, (list, tuple)) else value
                    for value in arguments]
        results = [for_one(method, tensor, of(index), dict(keyword))
                   for index, tensor in enumerate(tensors)]
        return None if method.endswith("_") else results
    return foreach


@contextlib.contextmanager
def traced():
    """Inside, torch.export traces these operators."""
    known = fake_impls.op_implementations_dict
    shapes = {operator: ctc_loss_shapes for operator in CTC_LOSSES
              if operator not in known}
    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.dict(known, shapes))
        patches.enter_context(mock.patch.object(
            functional, "ctc_loss", ctc_loss_of_tensors(functional.ctc_loss)))
        patches.enter_context(mock.patch.object(
            functional, "gaussian_nll_loss",
            gaussian_nll_loss_that_asserts(functional.gaussian_nll_loss)))
        for name in FOREACH:
            patches.enter_context(mock.patch.object(
                torch, name, for_each(name, getattr(torch, name))))
        for norm in (batchnorm._BatchNorm, batchnorm.SyncBatchNorm):
            patches.enter_context(mock.patch.object(
                norm, "forward", cumulative(norm.forward)))
        yield
