# SPDX-License-Identifier: Apache-2.0
"""Traces the modules of quantization-aware training (torch.ao.quantization).

A FakeQuantize follows the extremes of what it is given, chooses a scale and a
zero point, and rounds to the numbers that a quantized model has. It branches on
two flags, which are buffers: here both branches are computed, and the flags
choose, so that a flag that is set in a saved file holds in the next run.

| in PyTorch | here |
|---|---|
| `fused_moving_avg_obs_fake_quant` | the formulas of its kernel |
| `FakeQuantize.forward` | its observer and its quantization |
| buffers of a number per channel, empty at first | their size, which a first trace finds |

The formulas are those of ATen/native/quantized/cpu/fused_obs_fake_quant.cpp and of
fbgemm's ChooseQuantizationParams, computed in the same order: a scale that differs in
its last bit rounds some numbers to others.
"""

import contextlib
import sys
from unittest import mock

import torch
from torch.ao.quantization import fake_quantize, observer
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from export_error import ExportError
from user_lines import line_of_frame

SMALLEST_SCALE = 6.1e-5  # a reciprocal that float16 has
SCALE_OF_ZEROS = 0.1


def symmetric(low, high, levels):
    """The range around 0 that has both; one that touches 0 stays."""
    below, above = -(levels // 2 + 1), levels // 2
    widest = torch.maximum((low / below).abs(), (high / above).abs())
    has_both = (low < 0) & (high > 0)
    return (torch.where(has_both, widest * below, low),
            torch.where(has_both, widest * above, high))


def chosen(low, high, quant_min, quant_max, is_symmetric):
    """(scale, zero point) for numbers from `low` to `high`, float32 tensors."""
    levels = quant_max - quant_min
    if is_symmetric:
        low, high = symmetric(low, high, levels)
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = ((high.double() - low.double()) / levels).float()
    has_reciprocal = (scale != 0) & torch.isfinite(1 / scale)
    scale = torch.where(has_reciprocal, scale, SCALE_OF_ZEROS)
    is_small = scale < SMALLEST_SCALE
    wider = torch.full_like(scale, SMALLEST_SCALE) / scale
    low, high = (torch.where(is_small, each * wider, each) for each in (low, high))
    scale = torch.where(is_small, SMALLEST_SCALE, scale)
    first, last = low.double() / scale.double(), high.double() / scale.double()
    # From the end where less is rounded away.
    is_first_exact = abs(quant_min) + first.abs() < abs(quant_max) + last.abs()
    zero_point = torch.where(is_first_exact, quant_min - first, quant_max - last)
    if is_symmetric:
        zero_point = torch.where((low < 0) & (high > 0),
                                 (quant_min + quant_max) / 2, zero_point)
    return scale, zero_point.clamp(quant_min, quant_max).round()


def fake_quantized(is_on, x, scale, zero_point, axis, quant_min, quant_max):
    """`axis` is None for one scale."""
    if axis is None:
        result = torch.fake_quantize_per_tensor_affine(
            x, scale, zero_point, quant_min, quant_max)
    else:
        result = torch.fake_quantize_per_channel_affine(
            x, scale, zero_point, axis, quant_min, quant_max)
    return torch.where(is_on, result.type_as(x), x)


def extremes(x, axis):
    """(smallest, largest) of all of x, or at each place of the axis."""
    x = x.detach().float()
    if axis is None:
        return torch.aminmax(x)
    return torch.aminmax(x.transpose(0, axis).flatten(1), dim=1)


def averaged(running, found, constant):
    """The first extremes are what is found; they were infinite."""
    return torch.where(torch.isinf(running), found,
                       running + constant * (found - running))


def write_if(is_on, buffer, value):
    buffer.copy_(torch.where(is_on, value.to(buffer.dtype), buffer))


def fused(x, observer_on, fake_quant_on, running_min, running_max, scale,
          zero_point, averaging_const, quant_min, quant_max, ch_axis,
          per_row_fake_quant=False, symmetric_quant=False):
    """fused_moving_avg_obs_fake_quant."""
    if not running_min.numel():
        return x.clone()  # This trace only finds the sizes.
    axis = ch_axis if per_row_fake_quant else None
    is_observing, is_on = observer_on[0] != 0, fake_quant_on[0] != 0
    for running, found in zip((running_min, running_max), extremes(x, axis)):
        write_if(is_observing, running, averaged(running, found, averaging_const))
    parameters = chosen(running_min, running_max, quant_min, quant_max,
                        symmetric_quant)
    for buffer, value in zip((scale, zero_point), parameters):
        write_if(is_on, buffer, value.reshape(buffer.shape))
    return fake_quantized(is_on, x, scale, zero_point, axis, quant_min, quant_max)


FORMULAS = {torch.ops.aten.fused_moving_avg_obs_fake_quant.default: fused}


#===----------------------------------------------------------------------===#
# FakeQuantize and its observers
#===----------------------------------------------------------------------===#


def axis_of(module):
    return module.ch_axis if module.is_per_channel else None


def forward(self, x):
    """FakeQuantize.forward."""
    watcher = self.activation_post_process
    if any(not each.numel() for each in watcher.buffers()):
        return x.clone()  # This trace only finds the sizes.
    is_observing = self.observer_enabled[0] == 1
    before = [(each, each._version, each.clone()) for each in watcher.buffers()]
    try:
        watcher(x.detach())
    except GuardOnDataDependentSymNode as error:
        raise ExportError(
            f"{type(watcher).__name__} of a FakeQuantize branches on data, which a "
            f"compiled step does not see, at {line_of_frame(sys._getframe())}: use "
            f"MovingAverageMinMaxObserver, as get_default_qat_qconfig does") from error
    for buffer, value in zip((self.scale, self.zero_point), self.calculate_qparams()):
        if value is not buffer:
            write_if(is_observing, buffer, value)
    for buffer, version, value in before:
        if buffer._version != version:
            write_if(~is_observing, buffer, value)
    return fake_quantized(self.fake_quant_enabled[0] == 1, x, self.scale,
                          self.zero_point, axis_of(self), watcher.quant_min,
                          watcher.quant_max)


def follow(self, found):
    for running, new in zip((self.min_val, self.max_val), found):
        running.copy_(averaged(running, new, self.averaging_constant))


def follow_average(self, x):
    """MovingAverageMinMaxObserver.forward."""
    follow(self, extremes(x, None))
    return x


def follow_averages(self, x):
    """MovingAveragePerChannelMinMaxObserver.forward."""
    follow(self, extremes(x, self.ch_axis))
    return x


def follow_channels(self, x):
    """PerChannelMinMaxObserver.forward, whose first extremes are the infinite
    ones' too."""
    low, high = extremes(x, self.ch_axis)
    self.min_val.copy_(torch.min(low, self.min_val))
    self.max_val.copy_(torch.max(high, self.max_val))
    return x


def with_one_dimension(original):
    """Numbers of one element would be looked up to make tensors of them."""
    def calculate_qparams(self, low, high):
        return original(self, low.reshape(-1), high.reshape(-1))
    return calculate_qparams


UNIFORM = observer.UniformQuantizationObserverBase
PATCHES = (
    (fake_quantize.FakeQuantize, "forward", forward),
    (observer.MovingAverageMinMaxObserver, "forward", follow_average),
    (observer.MovingAveragePerChannelMinMaxObserver, "forward", follow_averages),
    (observer.PerChannelMinMaxObserver, "_forward", follow_channels),
    (UNIFORM, "_calculate_qparams", with_one_dimension(UNIFORM._calculate_qparams)),
    # It asserts that the smallest is not above the largest.
    (observer, "check_min_max_valid", lambda *_: True))


@contextlib.contextmanager
def traced():
    """Inside, torch.export traces FakeQuantize."""
    with contextlib.ExitStack() as patches:
        for each in PATCHES:
            patches.enter_context(mock.patch.object(*each))
        yield


#===----------------------------------------------------------------------===#
# Buffers that the first call sizes
#===----------------------------------------------------------------------===#


def empty_ones(module):
    """Each FakeQuantize whose numbers per channel are not there yet."""
    return [each for each in module.modules()
            if isinstance(each, fake_quantize.FakeQuantize) and each.is_per_channel
            and not each.activation_post_process.min_val.numel()]


def sizes_of(module, trace):
    """{FakeQuantize: channels} of the empty ones that are called in `trace()`."""
    sizes = {}

    def note(each, arguments):
        sizes[each] = arguments[0].shape[each.ch_axis]

    empty = empty_ones(module)
    handles = [each.register_forward_pre_hook(note) for each in empty]
    try:
        if empty:
            trace()
    finally:
        for handle in handles:
            handle.remove()
    return sizes


@contextlib.contextmanager
def sized(sizes):
    """Inside, these have extremes of their size, which nothing has moved."""
    with contextlib.ExitStack() as patches:
        for each, size in sizes.items():
            own, watchers = each._buffers, each.activation_post_process._buffers
            for buffers, name, value in (
                    (own, "scale", 1), (own, "zero_point", 0),
                    (watchers, "min_val", float("inf")),
                    (watchers, "max_val", float("-inf"))):
                patches.enter_context(mock.patch.dict(buffers, {
                    name: buffers[name].new_full((size,), value)}))
        yield


def fused_of(sizes):
    """Those that PyTorch has the same extremes for in its first call; others are
    empty. It leaves their scale without a value until they quantize."""
    return {each: size for each, size in sizes.items()
            if isinstance(each, fake_quantize.FusedMovingAvgObsFakeQuantize)}
