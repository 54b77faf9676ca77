# SPDX-License-Identifier: Apache-2.0
"""Makes torch.export trace what it does not by itself.

PyTorch (2.15) has no shapes for the operator behind ctc_loss, which returns the
probabilities of all states beside the loss: their number depends on the longest
target. A program for training needs the loss alone.
"""

import contextlib
from unittest import mock

import torch
from torch._subclasses import fake_impls
from torch.nn import functional

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


@contextlib.contextmanager
def traced():
    """Inside, torch.export traces these operators."""
    known = fake_impls.op_implementations_dict
    shapes = {operator: ctc_loss_shapes for operator in CTC_LOSSES
              if operator not in known}
    with mock.patch.dict(known, shapes), mock.patch.object(
            functional, "ctc_loss", ctc_loss_of_tensors(functional.ctc_loss)):
        yield
