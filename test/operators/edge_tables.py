# SPDX-License-Identifier: Apache-2.0
"""Edges of reductions, functions, distances, indices, images and products.

Each function of edge_samples.TABLES yields (name, note, call, operands).
"""

import functools

import torch
import torch.nn.functional as F

from edge_points import INF, NAN, trained

#===-----------------------------------------------------------------------===#
# Reductions and what works on rows
#===-----------------------------------------------------------------------===#

ORDERS = (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1)
# Of x [rows, 4] along dimension 1.
ROWS = {
    "sum": lambda x: x.sum(1), "mean": lambda x: x.mean(1),
    "nansum": lambda x: x.nansum(1), "nanmean": lambda x: x.nanmean(1),
    "prod": lambda x: x.prod(1), "cumprod": lambda x: x.cumprod(1),
    "cumsum": lambda x: x.cumsum(1), "logcumsumexp": lambda x: x.logcumsumexp(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "softmax": lambda x: x.softmax(1), "log_softmax": lambda x: x.log_softmax(1),
    "softmin": lambda x: F.softmin(x, 1),
    "safe_softmax": lambda x: torch.ops.aten._safe_softmax(x, 1),
    "amax": lambda x: x.amax(1), "amin": lambda x: x.amin(1),
    "aminmax": lambda x: torch.aminmax(x, dim=1),
    "max.dim": lambda x: x.max(1)[0], "min.dim": lambda x: x.min(1)[0],
    "median": lambda x: x.median(1)[0], "nanmedian": lambda x: x.nanmedian(1)[0],
    "mode": lambda x: x.mode(1)[0], "cummax": lambda x: x.cummax(1)[0],
    "cummin": lambda x: x.cummin(1)[0], "kthvalue": lambda x: x.kthvalue(1, 1)[0],
    "sort": lambda x: x.sort(dim=1, stable=True)[0],
    "topk": lambda x: x.topk(2, 1)[0],
    "quantile": lambda x: x.quantile(0.5, 1),
    "nanquantile": lambda x: x.nanquantile(0.25, 1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "layer_norm.eps": lambda x: F.layer_norm(x, x.shape[1:], eps=0.0),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[1:]),
    "rms_norm.eps": lambda x: F.rms_norm(x, x.shape[1:], eps=0.0),
    "group_norm": lambda x: F.group_norm(x, 2),
    "instance_norm": lambda x: F.instance_norm(x[:, None]),
    "batch_norm": lambda x: F.batch_norm(x.t(), None, None, training=True),
    "normalize": lambda x: F.normalize(x),
    "normalize.1": lambda x: F.normalize(x, p=1.0),
    "normalize.inf": lambda x: F.normalize(x, p=INF),
    "normalize.eps": lambda x: F.normalize(x, eps=2.0),
    "renorm": lambda x: torch.renorm(x, 2, 0, 1.0),
    "renorm.1": lambda x: torch.renorm(x, 1, 0, 4.0),
    "glu": lambda x: F.glu(x, 1), "diff": lambda x: x.diff(dim=1),
    "local_response_norm": lambda x: F.local_response_norm(x[None], 2),
    "frobenius": lambda x: torch.linalg.matrix_norm(x.view(-1, 2, 2)),
    "matrix_norm.1": lambda x: torch.linalg.matrix_norm(x.view(-1, 2, 2), 1),
    "matrix_norm.-1": lambda x: torch.linalg.matrix_norm(x.view(-1, 2, 2), -1),
    "matrix_norm.inf": lambda x: torch.linalg.matrix_norm(x.view(-1, 2, 2), INF),
    "weight_norm": lambda x: torch._weight_norm(x, x[:, :1].detach() * 0 + 2, 0),
    "max_pool1d": lambda x: F.max_pool1d(x[None], 2, 1),
    "avg_pool1d": lambda x: F.avg_pool1d(x[None], 2, 1, 1),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x[None], 3),
    "lp_pool1d.2": lambda x: F.lp_pool1d(x[None], 2.0, 2),
    "lp_pool1d.1": lambda x: F.lp_pool1d(x[None], 1.0, 2),
    "lp_pool1d.3": lambda x: F.lp_pool1d(x[None], 3.0, 2),
}
for correction in (0, 1, 4, 5, 0.5):
    for kind in "std", "var", "std_mean", "var_mean":
        ROWS[f"{kind}.{correction}"] = functools.partial(
            lambda x, kind, correction: getattr(torch, kind)(
                x, dim=1, correction=correction),
            kind=kind, correction=correction)
for order in ORDERS:
    ROWS[f"norm.{order}"] = functools.partial(
        lambda x, order: x.norm(order, 1), order=order)
    ROWS[f"vector_norm.{order}"] = functools.partial(
        lambda x, order: torch.linalg.vector_norm(x, order, 1), order=order)
# Of one element, and of none, they are defined.
ALONE = ("sum", "mean", "nansum", "nanmean", "prod", "cumprod", "cumsum",
         "logcumsumexp", "logsumexp", "softmax", "log_softmax", "softmin",
         "safe_softmax", "amax", "amin", "max.dim", "min.dim", "median", "mode",
         "cummax", "kthvalue", "sort", "quantile", "layer_norm", "rms_norm",
         "normalize", "normalize.1", "renorm", "std.0", "std.1", "var.0",
         "var.1", "std_mean.1", "var_mean.0", "norm.0.5", "norm.1", "norm.2",
         "norm.inf", "norm.0", "norm.3", "norm.-1", "vector_norm.2")
NOTHING = ("sum", "mean", "nansum", "prod", "logsumexp", "std.0", "std.1",
           "var.0", "var.1", "norm.1", "norm.2", "norm.0", "norm.3")


def row_edges(numbers):
    """One of a row each would be many: gradients of rows are their own."""
    dtype = numbers.dtype
    for name, function in ROWS.items():
        for note, rows in (("rows", numbers.rows()),
                           ("rows of huge numbers", numbers.huge_rows()),
                           ("rows of subnormal numbers",
                            numbers.subnormal_rows()),
                           ("rows with infinities", numbers.infinite_rows())):
            yield name, note, function, [trained(rows, dtype)]
        if name in ALONE:
            yield name, "of one element", function, [
                trained([[0.0], [2.0], [-3.0], [INF], [numbers.tiny]], dtype)]
        if name in NOTHING:
            # Beside a term that has a gradient, or there is nothing to compare.
            yield name, "of nothing", functools.partial(
                lambda x, y, function: function(x) + y, function=function), [
                    trained([[], []], dtype), trained([1.0, 2.0], dtype)]
    everything = {
        "sum": torch.sum, "prod": torch.prod, "max": torch.max, "min": torch.min,
        "std": torch.std, "var": torch.var, "norm": torch.norm,
        "median": torch.median, "amax": torch.amax,
        "var_mean": torch.var_mean, "std_mean": torch.std_mean}
    for name, function in everything.items():
        for row in ([0, 0, 0], [2, 0, 3], [0, 0, 4], [1, 1, 1], [5], [0]):
            yield f"{name}.all", f"of {row}", function, [trained(
                [float(each) for each in row], dtype)]
        yield f"{name}.all", "of a scalar", function, [trained(3.0, dtype)]


#===-----------------------------------------------------------------------===#
# Two tensors
#===-----------------------------------------------------------------------===#


def pairs(points, dtype):
    a, b = torch.meshgrid(torch.tensor(points, dtype=dtype),
                          torch.tensor(points, dtype=dtype), indexing="ij")
    return [a.flatten().requires_grad_(), b.flatten().requires_grad_()]


BINARY = {
    "atan2": torch.atan2, "hypot": torch.hypot, "pow": torch.pow,
    "xlogy": torch.xlogy, "xlog1py": torch.special.xlog1py,
    "logaddexp": torch.logaddexp, "logaddexp2": torch.logaddexp2,
    "maximum": torch.maximum, "minimum": torch.minimum, "fmax": torch.fmax,
    "fmin": torch.fmin, "div": torch.div, "mul": torch.mul,
    "fmod": torch.fmod, "remainder": torch.remainder,
    "copysign": torch.copysign, "float_power": torch.float_power,
    "div.floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "div.trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "clamp_min.Tensor": torch.clamp_min, "clamp_max.Tensor": torch.clamp_max,
    "clamp.Tensor": lambda a, b: torch.clamp(a, b, b + 1),
    "clamp.crossed": lambda a, b: torch.clamp(a, b + 1, b),
    "lerp": lambda a, b: torch.lerp(a, b, 0.75),
    "lerp.Tensor": lambda a, b: torch.lerp(a, a, b),
    "addcdiv": lambda a, b: torch.addcdiv(a, a, b, value=0.5),
    "addcmul": lambda a, b: torch.addcmul(b, a, b, value=0.5),
    "where": lambda a, b: torch.where(a > b, a, b),
    "prelu": lambda a, b: F.prelu(a, b[:1]),
    "dist.2": lambda a, b: torch.dist(a, b),
}


def pair_edges(numbers):
    dtype = numbers.dtype
    # Not subnormal numbers, nor those that overflow by a factor of 2: rounding
    # in another order decides there.
    ends = [0.0, 1.0, -1.0, 2.0, -0.5, numbers.tiny, -2 * numbers.tiny,
            numbers.huge, -numbers.max]
    infinite = [0.0, 1.0, -2.0, INF, -INF, NAN]
    for name, function in BINARY.items():
        yield name, "at the ends of the range", function, pairs(ends, dtype)
        yield name, "with infinities", function, pairs(infinite, dtype)
        if name not in ("prelu", "dist.2"):
            row, column = [0.0, 1.0, 2.0], [[1.0], [0.0], [2.0]]
            for a, b, side in ((row, column, "both"), (row, 1.0, "b"),
                               (0.0, column, "a")):
                yield name, f"broadcast on {side}", function, [
                    trained(a, dtype), trained(b, dtype)]
    for exponent in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.5, 2.5):
        yield f"pow.{exponent}", "", functools.partial(
            lambda x, exponent: x ** exponent, exponent=exponent), [
                trained([*numbers.points(), INF, -INF, NAN], dtype)]
    for base in (0.0, 1.0, 2.0, -1.0):
        yield f"pow.Scalar.{base}", "", functools.partial(
            lambda x, base: torch.pow(base, x), base=base), [
                trained([*numbers.points(), INF, -INF, NAN], dtype)]


#===-----------------------------------------------------------------------===#
# Distances and similarities
#===-----------------------------------------------------------------------===#


def distance_edges(numbers):
    dtype, tiny, huge = numbers.dtype, numbers.tiny, numbers.huge
    first = [[0, 0, 0], [1, 2, 2], [1, 1, 1], [tiny, 0, tiny], [huge, 0, huge],
             [1e-9, 0, 0], [3, 0, 4]]
    second = [[1, 2, 3], [1, 2, 2], [0, 0, 0], [tiny, tiny, 0], [huge, huge, 1],
              [1, 1, 1], [3, 0, 4]]

    def operands(a=first, b=second):
        return [trained([[float(each) for each in row] for row in rows], dtype)
                for rows in (a, b)]

    yield "cosine_similarity", "of rows", F.cosine_similarity, operands()
    yield "cosine_similarity", "below eps", functools.partial(
        F.cosine_similarity, eps=2.5), operands()
    for a, b in (([[1], [2], [0]], second[:3]), (first[:3], [[1], [3], [0]]),
                 (first, second[:1]), (first[1:2], second),
                 ([[2], [1]], [[3, 1, 2]]), ([[2]], [[3]])):
        yield "cosine_similarity", "broadcast", F.cosine_similarity, operands(
            a, b)
    yield "cosine_similarity", "broadcast from fewer dimensions", \
        functools.partial(F.cosine_similarity, dim=0), [
            trained([1.0, 2.0, 3.0], dtype), trained([[1.0], [0.0]], dtype)]
    yield "cosine_similarity", "of vectors", functools.partial(
        F.cosine_similarity, dim=0), [
            trained([1.0, 2.0, 2.0], dtype), trained([0.0, 0.0, 0.0], dtype)]
    for order in (0.5, 1.0, 2.0, 3.0, INF, 0.0):
        yield f"pairwise_distance.{order}", "", functools.partial(
            F.pairwise_distance, p=order), operands()
        yield f"pairwise_distance.{order}", "without eps", functools.partial(
            F.pairwise_distance, p=order, eps=0.0), operands()
        yield f"cdist.{order}", "", functools.partial(
            torch.cdist, p=order), operands()
        yield f"pdist.{order}", "", functools.partial(
            F.pdist, p=order), operands()[:1]
        if order == 0:
            continue  # Which dist has no derivative for.
        yield f"dist.{order}", "of equal tensors", functools.partial(
            torch.dist, p=order), operands(first[:2], first[:2])
        yield f"dist.{order}", "broadcast", functools.partial(
            torch.dist, p=order), operands([[1], [0]], [[1, 2, 3]])


#===-----------------------------------------------------------------------===#
# Functions of one tensor
#===-----------------------------------------------------------------------===#

UNARY = {name: getattr(torch, name) for name in (
    "abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc erfinv "
    "exp exp2 expm1 floor frac lgamma log log10 log1p log2 logit nan_to_num neg "
    "reciprocal round rsqrt sigmoid sign sgn sin sinc sinh sqrt square tan tanh "
    "trunc relu angle deg2rad rad2deg").split()}
UNARY |= {name: getattr(torch.special, name) for name in (
    "entr erfcx ndtr log_ndtr").split()}
UNARY |= {name: getattr(F, name) for name in (
    "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu "
    "logsigmoid mish relu6 selu silu softplus softshrink softsign "
    "tanhshrink").split()}
UNARY |= {
    "gelu.tanh": lambda x: F.gelu(x, approximate="tanh"),
    "logit.eps": lambda x: torch.logit(x, eps=0.5),
    "elu.alpha": lambda x: F.elu(x, alpha=-0.5),
    "leaky_relu.negative": lambda x: F.leaky_relu(x, -1.0),
    "softplus.beta": lambda x: F.softplus(x, beta=2.0, threshold=6.0),
    "softplus.low": lambda x: F.softplus(x, beta=0.5, threshold=0.5),
    "threshold": lambda x: F.threshold(x, 1.0, 5.0),
    "clamp": lambda x: x.clamp(-1, 2), "clamp_min": lambda x: x.clamp_min(1),
    "clamp_max": lambda x: x.clamp_max(0), "clamp.equal": lambda x: x.clamp(1, 1),
    "clamp.crossed.numbers": lambda x: x.clamp(2, -1),
    "hardshrink.0": lambda x: F.hardshrink(x, 0.0),
    "softshrink.0": lambda x: F.softshrink(x, 0.0),
    "nan_to_num.numbers": lambda x: x.nan_to_num(1.0, 2.0, 3.0),
    "polygamma.1": lambda x: torch.polygamma(1, x),
    "polygamma.2": lambda x: torch.polygamma(2, x),
    "mvlgamma": lambda x: torch.mvlgamma(x.abs() + 1, 2),
    "masked_fill": lambda x: x.masked_fill(x > 1, 0.0),
    "rsub": lambda x: 1 - x, "fmod.number": lambda x: x.fmod(2.0),
    "remainder.number": lambda x: x.remainder(-2.0),
    "div.number.floor": lambda x: x.div(2.0, rounding_mode="floor"),
    "dropout": lambda x: F.dropout(x, 0.0), "round.1": lambda x: x.round(decimals=1),
}


def point_edges(numbers):
    dtype = numbers.dtype
    points = numbers.points()
    for name, function in UNARY.items():
        yield name, "at points", function, [trained(points, dtype)]
        yield name, "at infinities", function, [
            trained([INF, -INF, NAN, 0.0], dtype)]


#===-----------------------------------------------------------------------===#
# Indices, windows, images, products
#===-----------------------------------------------------------------------===#


def index_edges(numbers):
    dtype = numbers.dtype
    index = torch.tensor([0, 0, 1, 1, 3, 3])
    source = [2.0, 2.0, 1.0, 3.0, 0.0, 0.0]
    own = [2.0, 5.0, 7.0, 0.0]
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            for note, values, start in (
                    ("ties", source, own), ("equal", [2.0] * 6, [2.0] * 4),
                    ("zeros", [0.0] * 6, [0.0, 3.0, 1.0, 2.0]),
                    ("infinities", [INF, 1.0, -INF, -INF, NAN, 1.0], own),
                    ("ends", [numbers.tiny, numbers.huge, numbers.max, 1.0,
                              numbers.tiny, numbers.tiny], own)):
                yield f"scatter_reduce.{reduce}", f"{note} {include}", \
                    functools.partial(
                        lambda x, i, s, reduce, include: x.scatter_reduce(
                            0, i, s, reduce, include_self=include),
                        reduce=reduce, include=include), [
                            trained(start, dtype), index, trained(values, dtype)]
                if reduce != "sum":
                    yield f"index_reduce.{reduce}", f"{note} {include}", \
                        functools.partial(
                            lambda x, i, s, reduce, include: x.index_reduce(
                                0, i, s, reduce, include_self=include),
                            reduce=reduce, include=include), [
                                trained(start, dtype), index,
                                trained(values, dtype)]
    repeated = torch.tensor([1, 1, 0])
    x, y = own, [1.0, 2.0, 3.0]
    calls = {
        "scatter_add": lambda x, i, y: x.scatter_add(0, i, y),
        "index_add": lambda x, i, y: x.index_add(0, i, y, alpha=2),
        "index_put": lambda x, i, y: x.index_put((i,), y, accumulate=True),
        "gather": lambda x, i, y: x.gather(0, i) * y,
        "index_select": lambda x, i, y: x.index_select(0, i) * y,
        "index_fill": lambda x, i, y: x.index_fill(0, i, 0.0) * y.sum(),
        "take": lambda x, i, y: x.take(i) * y,
        "put": lambda x, i, y: x.put(i, y, accumulate=True),
    }
    for name, function in calls.items():
        yield name, "of equal indices", function, [
            trained(x, dtype), repeated, trained(y, dtype)]
    table = [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]
    words = torch.tensor([[0, 1], [1, 1]])
    for padding in (None, 1):
        yield "embedding", f"{padding}", functools.partial(
            lambda w, i, padding: F.embedding(i, w, padding_idx=padding),
            padding=padding), [trained(table, dtype), words]
        for mode in ("sum", "mean", "max"):
            yield f"embedding_bag.{mode}", f"{padding}", functools.partial(
                lambda w, i, o, mode, padding: F.embedding_bag(
                    i, w, o, mode=mode, padding_idx=padding),
                mode=mode, padding=padding), [
                    trained(table, dtype), torch.tensor([0, 1, 1, 2, 1]),
                    torch.tensor([0, 2, 2, 4])]


def image_edges(numbers):
    dtype = numbers.dtype
    image = trained([[[[1.0, 1.0, 2.0], [2.0, 2.0, 1.0], [0.0, -1.0, 2.0]]]],
                    dtype)
    tied = trained([[[[1.0, 1.0, -INF], [1.0, 1.0, -INF], [-INF, -INF, NAN]]]],
                   dtype)

    def new(x):
        return x.detach().clone().requires_grad_()

    pools = {
        "max_pool2d": lambda x: F.max_pool2d(x, 2, 1),
        "max_pool2d.padded": lambda x: F.max_pool2d(x, 2, 2, 1, ceil_mode=True),
        "max_pool2d.dilated": lambda x: F.max_pool2d(x, 2, 1, dilation=2),
        "avg_pool2d": lambda x: F.avg_pool2d(x, 2, 2, 1, ceil_mode=True),
        "avg_pool2d.excluded": lambda x: F.avg_pool2d(
            x, 2, 2, 1, ceil_mode=True, count_include_pad=False),
        "avg_pool2d.divisor": lambda x: F.avg_pool2d(x, 2, 1,
                                                     divisor_override=3),
        "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
        "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
        "lp_pool2d": lambda x: F.lp_pool2d(x, 2.0, 2, 1),
        "pad.reflect": lambda x: F.pad(x, (2, 2, 1, 1), "reflect"),
        "pad.replicate": lambda x: F.pad(x, (2, 0, 1, 3), "replicate"),
        "pad.circular": lambda x: F.pad(x, (3, 3, 1, 1), "circular"),
    }
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        for size in ((1, 1), (3, 3), (5, 2)):
            for align in ((False, True) if mode in ("bilinear", "bicubic")
                          else (None,)):
                pools[f"interpolate.{mode}.{size}.{align}"] = functools.partial(
                    F.interpolate, size=size, mode=mode, align_corners=align)
    for name, function in pools.items():
        yield name, "of an image", function, [new(image)]
        if "pool" in name:
            yield name, "with infinities", function, [new(tied)]
    places = [-INF, -5.0, -1.5, -1.0, -0.5, 0.0, 0.25, 1.0, 1.25, 4.0, INF,
              NAN, numbers.huge]
    grid = [[[[a, b] for a in places] for b in (-1.0, 0.0, 1.0, 1.75)]]
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                # PyTorch reads outside of the image for some of the others.
                known = [[[pair for pair in row if padding == "zeros"
                           and mode != "bicubic" or abs(pair[0]) < 10]
                          for row in plane] for plane in grid]
                yield f"grid_sample.{mode}.{padding}.{align}", "", \
                    functools.partial(F.grid_sample, mode=mode,
                                      padding_mode=padding,
                                      align_corners=align), [
                        new(image), trained(known, dtype)]


def product_edges(numbers):
    dtype = numbers.dtype
    a, b = [[1.0, 2.0], [0.0, 3.0]], [[2.0, 0.0], [1.0, 1.0]]
    square = [[a, b]]
    products = {
        "addmm.beta": lambda c, a, b: torch.addmm(c, a, b, beta=0),
        "addmm.alpha": lambda c, a, b: torch.addmm(c, a, b, alpha=0),
        "addbmm.beta": lambda c, a, b: torch.addbmm(c, a[None], b[None], beta=0),
        "baddbmm.beta": lambda c, a, b: torch.baddbmm(
            c[None], a[None], b[None], beta=0),
        "addmv.beta": lambda c, a, b: torch.addmv(c[0], a, b[0], beta=0),
        "addr.beta": lambda c, a, b: torch.addr(c, a[0], b[0], beta=0),
    }
    for name, function in products.items():
        yield name, "", function, [trained([[1.0, 1.0], [2.0, 0.0]], dtype),
                                   trained(a, dtype), trained(b, dtype)]
    for name, matrix in (("singular", [[1.0, 2.0], [2.0, 4.0]]),
                         ("zero", [[0.0, 0.0], [0.0, 0.0]]),
                         ("permuted", [[0.0, 1.0], [1.0, 0.0]])):
        yield "det", name, torch.linalg.det, [trained(matrix, dtype)]
        if name == "permuted":
            yield "slogdet", name, lambda x: torch.linalg.slogdet(x)[1], [
                trained(matrix, dtype)]
            yield "inv", name, torch.linalg.inv, [trained(matrix, dtype)]
    masks = {"causal": {"is_causal": True}, "none": {},
             "false": {"attn_mask": torch.tensor([[False, False],
                                                  [True, False]])},
             "infinite": {"attn_mask": torch.tensor([[-INF, -INF], [0.0, -INF]],
                                                    dtype=dtype)}}
    for name, options in masks.items():
        yield "scaled_dot_product_attention", name, functools.partial(
            lambda q, k, v, options: F.scaled_dot_product_attention(
                q, k, v, **options), options=options), [
                    trained(square, dtype), trained(square, dtype),
                    trained(square, dtype)]
    for name, value in (("-inf", -INF), ("large", -1e9)):
        yield "masked_softmax", name, functools.partial(
            lambda x, value: x.masked_fill(torch.tensor(
                [[True, True, True], [True, False, False],
                 [False, False, False]]), value).softmax(-1), value=value), [
                     trained([[1.0, 2.0, 3.0]] * 3, dtype)]
