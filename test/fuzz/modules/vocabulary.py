# SPDX-License-Identifier: Apache-2.0
"""The expressions, statements, layers and losses of random modules, as text.

A template is what a user would write, with names in braces for what is drawn
when it is used; writer.py says what each name stands for. A template need not
fit every tensor: one that PyTorch refuses is drawn again.

    {x}     a float tensor, the same one in all of the template
    {y}     a float tensor that broadcasts with x     {v}  any float tensor
    {w}     a parameter, {u} a buffer, that broadcast with x
    {W}     a matrix that x can be multiplied by
    {m}     a mask that broadcasts with x             {M}  one of x's shape
    {i}     any integer tensor                        {b}  any mask
    {k}     a vector of indices along dimension d of x
    {K}     indices along dimension d, of x's shape   {z}  a complex tensor
    {d} {e} dimensions of x                           {S}  its shape
    {s}     indices of some of x, as `1:, ::2`        {D}  its size along d
    {n}     a small number from 1                     {c}  a number
"""

ELEMENTWISE = """
{x}.tanh()
{x}.sigmoid()
F.relu({x})
F.gelu({x})
F.gelu({x}, approximate="tanh")
F.silu({x})
F.mish({x})
F.softplus({x})
F.softplus({x}, beta=2, threshold=1)
F.elu({x}, 0.5)
F.celu({x}, 0.7)
F.selu({x})
F.leaky_relu({x}, 0.1)
F.hardtanh({x}, -0.5, 1.0)
F.hardswish({x})
F.hardsigmoid({x})
F.relu6({x} * 4)
F.threshold({x}, 0.25, -1.0)
F.softshrink({x}, 0.5)
F.hardshrink({x}, 0.5)
F.tanhshrink({x})
F.softsign({x})
F.logsigmoid({x})
F.glu({x}, {d})
F.prelu({x}, {x}.new_full((1,), 0.2))
{x}.abs()
-{x}
{x}.square()
{x} ** 2
{x} ** 3
{x}.abs() ** 1.5
2 ** {x}.clamp(max=3)
({x}.abs() + 0.1).sqrt()
({x}.square() + 0.5).rsqrt()
({x}.abs() + 0.5).log()
({x}.abs() + 0.5).log2()
torch.log1p({x}.abs())
{x}.exp().clamp(max=4)
torch.expm1({x}.clamp(max=1))
1 / ({x}.abs() + 0.5)
({x}.abs() + 1).reciprocal()
{x}.sin()
{x}.cos()
{x}.atan()
{x}.tanh().asin()
{x}.erf()
torch.sinc({x})
torch.special.entr({x}.sigmoid())
torch.logit({x}.sigmoid(), eps=1e-3)
torch.lgamma({x}.abs() + 1)
{x}.clamp(-1, 1)
{x}.clamp(min=0)
{x}.clip(max=0.5)
torch.clamp({x}, {y}, {y} + 1)
{x}.floor() * {x}
{x}.round() + {x}
{x}.trunc() * 0.5
{x}.frac()
{x}.sign() * {x}
{x} % 0.75
torch.fmod({x}, 0.75)
torch.nan_to_num({x})
{x} + {c}
{x} - {c}
{c} - {x}
{x} * {c}
{x} / 3
{x} / {c}
{x}.softmax({d})
{x}.log_softmax({d})
F.softmin({x}, {d})
F.normalize({x}, dim={d})
F.normalize({x}, p=1, dim={d}, eps=0.5)
F.layer_norm({x}, {x}.shape[-1:])
F.rms_norm({x}, {x}.shape[-1:])
F.local_response_norm({x}, 2)
torch.renorm({x}, 2, {d}, 1.0)
OwnStep.apply({x})
OwnRound.apply({x})
OwnRound.apply({x}, 2)
OwnReLU.apply({x})
{x} - {x}.detach() + {x}.detach().round()
""".strip().splitlines()

BINARY = """
{x} + {y}
{x} - {y}
{x} * {y}
{y} * {x}.tanh()
{x} / ({y}.abs() + 0.5)
{x} + {w}
{x} * {w}
{w} * ({x} - {w})
{w} - {x}
{x} + {u}
{x} * {u}
{x} @ {W}
torch.maximum({x}, {y})
torch.minimum({x}, {w})
torch.fmax({x}, {y})
torch.where({m}, {x}, {y})
torch.where({m}, {x}, 0.0)
torch.where({m}, {x}, {w})
torch.where({x} > {y}, {x}, {y})
torch.where({x} == 0, {y}, {x})
{x}.masked_fill({m}, {c})
{x}.masked_fill({x} > 0.5, 0.25)
{x}.lerp({y}, 0.3)
torch.addcmul({x}, {y}, {y}, value=0.5)
torch.addcdiv({x}, {y}, {y}.abs() + 1)
torch.logaddexp({x}, {y})
torch.hypot({x}, {y} + 3)
torch.atan2({x}, {y}.abs() + 0.5)
torch.copysign({x}, {y})
{x}.clamp(max={y})
{x}.clamp(min={w})
torch.rsub({x}, {y}, alpha=2)
torch.add({x}, {y}, alpha=0.5)
torch.xlogy({x}, {y}.abs() + 0.5)
{x} * {m}
{x} * {b}.sum()
{x} + {i}.sum() % 3
{x} * ({x} > {y})
({x} > 0).to({x}.dtype) * {y}
{x} * ({y} != 0).float()
F.cosine_similarity({x}, {y}, dim={d})
F.pairwise_distance({x}, {y} + 4)
torch.cdist({x}, {x} + 3)
{x} @ {v}
torch.matmul({x}, {v}.transpose(-1, -2))
torch.einsum("...i,...j->...ij", {x}, {y})
torch.einsum("i...,i...->...", {x}, {x})
torch.outer({x}.flatten()[:3], {v}.flatten()[:2])
torch.kron({x}.flatten()[:2], {v}.flatten()[:3])
torch.tensordot({x}, {v}, dims=1)
F.linear({x}, {W}.t())
torch.cross({x}, {y}, dim={d})
torch.dist({x}, {y} + 2) * {x}
F.scaled_dot_product_attention({x}, {x}, {x})
F.scaled_dot_product_attention({x}, {x}, {y}, is_causal=True)
torch.baddbmm({x}, {x}, {w}, beta=0.5)
torch.addmm({x}, {x}, {v}, beta=0, alpha=0.5)
torch.bmm({x}, {x}.mT)
OwnProduct.apply({x}, {y})[0]
sum(OwnProduct.apply({x}, {w}))
({i} * 37).to(torch.uint8) / 255 * {x}
""".strip().splitlines()

REDUCTIONS = """
{x}.sum({d})
{x}.sum({d}, keepdim=True)
{x}.sum()
{x}.sum(({d}, {e}))
{x}.mean({d})
{x}.mean({d}, keepdim=True)
{x}.mean()
{x}.mean(({d}, {e}), keepdim=True)
{x} - {x}.mean({d}, keepdim=True)
{x}.amax({d})
{x}.amax({d}, keepdim=True)
{x}.amin(({d}, {e}))
{x}.max()
{x}.min()
{x}.max({d})[0]
{x}.max({d}).values
{x}.min({d}, keepdim=True)[0]
{x}.median({d}).values
{x}.median()
{x}.std({d})
{x}.std({d}, correction=0, keepdim=True)
{x}.var({d})
{x}.var({d}, unbiased=False)
torch.var_mean({x}, {d})[0]
torch.std_mean({x}, {d})[1]
{x}.norm(dim={d})
{x}.norm()
torch.linalg.vector_norm({x}, 1, {d})
torch.linalg.vector_norm({x}, float("inf"), {d})
{x}.prod({d})
{x}.logsumexp({d})
{x}.nanmean({d})
torch.aminmax({x}, dim={d})[1]
{x}.cumsum({d})
{x}.tanh().cumprod({d})
{x}.cummax({d})[0]
{x}.cummin({d}).values
{x}.logcumsumexp({d})
{x}.sort({d})[0]
{x}.sort({d}, descending=True)[0]
{x}.sort({d}, stable=True).values
{x}.topk({n}, {d})[0]
{x}.topk({n}, {d}, largest=False).values
{x}.kthvalue({n}, {d})[0]
{x}.quantile(0.5, {d})
{x}.diff(dim={d})
torch.trapezoid({x}, dim={d})
{x}.flatten(1).sum(1)
{x} / {x}.sum({d}, keepdim=True).abs().clamp(min=1)
{x} / {x}.abs().amax({d}, keepdim=True).clamp_min(1e-3)
""".strip().splitlines()

VIEWS = """
{x}.transpose({d}, {e})
{x}.mT
{x}.t()
{x}.movedim({d}, {e})
{x}.permute(*range({x}.ndim - 1, -1, -1))
{x}[{s}]
{x}[{s}]
{x}[{s}]
{x}[None]
{x}[..., None]
{x}[:, None]
{x}.narrow({d}, 0, {n})
{x}.narrow({d}, 1, {n})
{x}.select({d}, 0)
{x}.select({d}, -1)
{x}.unfold({d}, 2, 1)
{x}.unfold({d}, 2, 2)
{x}.diagonal()
{x}.diagonal(1, {d}, {e})
{x}.expand({n}, *{x}.shape)
{x}[:1].expand({S})
{x}.flatten()
{x}.flatten(1)
{x}.view(-1)
{x}.reshape(-1, {x}.shape[-1])
{x}.reshape({x}.shape[0], -1)
{x}.view({x}.shape[0], -1, 2)
{x}.unflatten({d}, (-1, 2))
{x}.unsqueeze({d})
{x}.squeeze()
{x}.squeeze({d})
{x}.chunk(2, {d})[0]
{x}.chunk(2, {d})[1]
{x}.split({n}, {d})[-1]
{x}.tensor_split(3, {d})[1]
{x}.unbind({d})[0]
{x}.view_as({x})
{x}.expand_as({y})
{x}.contiguous()
{x}.clone()
{x}.flip({d})
{x}.flip(0, -1)
{x}.roll(1, {d})
{x}.roll((1, -2), ({d}, {e}))
{x}.rot90(1, ({d}, {e}))
{x}.repeat(2, *[1] * ({x}.ndim - 1))
{x}.repeat_interleave(2, {d})
{x}.tile((2,))
{x}.tril()
{x}.triu(1)
{x}.diag_embed()
F.pad({x}, (1, 1))
F.pad({x}, (0, 2, 1, 0), value=0.5)
F.pad({x}, (-1, 1))
F.pad({x}, (1, 1), mode="replicate")
F.pad({x}, (1, 1), mode="reflect")
F.pad({x}, (1, 0), mode="circular")
torch.cat([{x}, {y}], {d})
torch.cat([{x}, {x} * 2, {x}[:0]])
torch.cat([{x}[:, :1], {x}], 1)
torch.stack([{x}, {x} - 1], {d})
torch.stack([{x}, {x}.flip({d})]).sum(0)
torch.hstack([{x}, {x}])
torch.block_diag({x}, {v})
torch.broadcast_tensors({x}, {y})[0]
torch.atleast_2d({x})
torch.stack([{x}[:, t] * t for t in range({x}.shape[1])], 1)
sum(part.square() for part in {x}.unbind({d}))
torch.cat([part.mean({d}, keepdim=True) for part in {x}.split({n}, {d})], {d})
F.avg_pool1d({x}, 2)
F.max_pool1d({x}, 2, 1)
F.avg_pool2d({x}, 2, ceil_mode=True)
F.max_pool2d({x}, 2, 1, padding=1)
F.adaptive_avg_pool1d({x}, 2)
F.adaptive_max_pool1d({x}, 2)
F.interpolate({x}, scale_factor=2.0)
F.interpolate({x}, size=3, mode="linear")
F.interpolate({x}, size=(3, 3), mode="bilinear", align_corners=True)
F.unfold({x}, 2)
F.pixel_shuffle({x}, 2)
F.pixel_unshuffle({x}, 2)
""".strip().splitlines()

INDEXING = """
{x}[{k}]
{x}.index_select({d}, {k})
{x}.gather({d}, {K})
{x}.take_along_dim({K}, {d})
{x}[:, [1, 0]]
{x}[..., [0, -1]]
{x}[[0, -1, 0]]
{x}[torch.arange(2), [1, 0]]
{x}[:, [0, 1], None]
{x}.take({i} % {x}.numel())
{x}.scatter({d}, {K}, {y})
{x}.scatter({d}, {K}, {c})
{x}.scatter_add({d}, {K}, {x})
{x}.scatter_reduce({d}, {K}, {x} * 0.5, "amax")
{x}.scatter_reduce({d}, {K}, {x} + 1, "mean", include_self=False)
{x}.index_add({d}, {k}, {x}.index_select({d}, {k}) * 0.5)
{x}.index_add({d}, {k}, {x}.index_select({d}, {k}), alpha=-0.5)
{x}.index_copy({d}, torch.tensor([0]), {x}.narrow({d}, 0, 1) * 2)
{x}.index_fill({d}, {k}, {c})
{x}.index_put(({k} % {x}.shape[0],), {x}[0], accumulate=True)
{x}.masked_scatter({M}, {x}.flip(0))
F.one_hot({k}, {D}).to({x}.dtype) * 0.5
F.one_hot({k}, {D}) @ {x}.transpose(0, {d}).flatten(1)
torch.bucketize({x}.detach(), {x}.new_tensor([-1.0, 0.0, 1.0])) * {x}
F.embedding({i} % {x}.shape[0], {x})
{x}[{x}.flatten(1).sum(1).argmax()]
{x}.gather({d}, {x}.argmax({d}, keepdim=True))
{x}.gather({d}, {x}.argsort({d}, stable=True))
{x}.contiguous().slice_scatter({x}.narrow({d}, 0, 1) * 2, {d}, 0, 1)
{x}.contiguous().select_scatter({x}.select({d}, 0) + 1, {d}, 0)
{x}.contiguous().diagonal_scatter({x}.diagonal() * 2)
torch.zeros_like({x}).index_add(0, {k} % {x}.shape[0], {x}[:1].expand({k}.shape[0], *{x}.shape[1:]))
""".strip().splitlines()

DTYPES = """
{x}.double().sum({d}).to({x}.dtype)
({x}.double() * {y}.double()).to({x}.dtype)
{x}.double().exp().clamp(max=4).float()
{i} * 0.5
{i} / 3
{i}.float() / 255
{i}.to({x}.dtype)
{i}.type_as({x})
{b}.float()
{b}.to({x}.dtype) - 0.5
{b}.type_as({x})
{x}.type_as({w})
{x} + torch.zeros_like({w})
{x}.reshape({w}.shape)
{x} * {i}
{x} + {b}
{b}.float().mean() + {x}
{i}.float().mean() * {x}
{i}.sum() * {x}
{i}.float().log1p().clamp(max=2)
torch.arange({x}.shape[-1]) * {x}
torch.arange({x}.shape[-1], dtype={x}.dtype) / {x}.shape[-1] + {x}
torch.linspace(0, 1, {x}.shape[-1]) * {x}
torch.ones({S}) * {x}
{x}.new_ones({S}) + {x}
{x}.new_zeros({x}.shape[-1]) + {x}
torch.full_like({x}, 0.5) * {x}
torch.full({S}, 2) * {x}
torch.eye({x}.shape[-1]) + {x}
torch.tensor([1.0, -1.0]) * {x}
{x} * torch.tensor(0.5, dtype=torch.float64)
{x} + torch.tensor(1)
({x} > {y}).sum({d}) * 0.25
{x}.count_nonzero({d}) * 0.5
({x} > 0).float().cumsum({d})
({i} % 2 == 0).unsqueeze(-1) * {x}
torch.tril(torch.ones({x}.shape[-1], {x}.shape[-1])) + {x}
{x}.masked_fill(torch.eye({x}.shape[-1]).bool(), 0.0)
{x}.masked_fill(~torch.ones({x}.shape[-1], {x}.shape[-1], dtype=torch.bool).tril(), -1.0)
{x}.detach() * {x}
{x} + ({y} - {y}.detach())
{x} - {x}.detach().mean()
{x}.detach()
{w}.detach() * {x}
{x} * {w}.numel() ** 0.5 * 0.25
{x} * {w}.shape[0] * 0.1
""".strip().splitlines()

COMPLEX = """
torch.fft.rfft({x})
torch.fft.fft({x})
torch.fft.rfft({x}, dim={d}, norm="ortho")
torch.fft.fft2({x}) * 0.5
torch.complex({x}, {y})
torch.view_as_complex(torch.stack([{x}, {y}], -1))
torch.polar({x}.abs() + 0.5, {x})
{x} * 1j
{x} + {y} * 1j
{x} * {z}
{z} * {z}.conj()
{z} * 0.5
{z} + {z}.conj()
{z}.transpose(0, -1)
{z}.flip(0)
{z}.roll(1, -1)
{z}[..., :2]
{z}[[0, -1]]
{z}.sum(0)
{z}.mean(-1, keepdim=True)
{z}.cumsum(0)
F.pad({z}, (0, 2))
torch.cat([{z}, {z}], -1)
torch.where({z}.real > 0, {z}, 0)
{z} @ {z}.mT
{z}.exp() * 0.1
torch.fft.fftshift({z})
""".strip().splitlines()

FROM_COMPLEX = """
{z}.real
{z}.imag
{z}.abs()
torch.view_as_real({z})
torch.view_as_real({z}).sum(-1)
({z} * {z}.conj()).real
torch.fft.irfft({z})
torch.fft.ifft({z}).real
{z}.real * {z}.imag
({z} + 2).angle()
""".strip().splitlines()

INTEGERS = """
{x}.argmax({d})
{x}.argmin({d})
{x}.argsort({d}, stable=True)
{x}.max({d})[1]
({x} > 0).long()
({x} > 0.25).sum({d})
{i} + 1
{i} % 3
{i} // 2
{i} * 2 - 1
{i}.clamp(1, 2)
{i}.cumsum(0)
{i}.flip(0)
{i}.long()
{i}.int()
{i}.to(torch.uint8)
({i} * 60).to(torch.uint8)
({i} * 60).to(torch.uint8) + 100
({i} * 60).to(torch.uint8) // 7
{i}.to(torch.uint8) - 3
({i} * 90).to(torch.int8)
-{i}.to(torch.int8) * 100
({i} * 30000).to(torch.int16) >> 2
{i}.to(torch.uint8).sum(0)
{i}.sum()
{i}.amax()
{i} & 1
{i} ^ 3
{i} << 1
{i}.abs()
torch.where({b}, 1, 2)
{b}.int()
{b}.cumsum(0)
{b}.sum()
torch.arange({D})
torch.arange({D}).flip(0)
torch.bincount({i}.flatten().abs() % 4, minlength=4)
torch.maximum({i}, {i}.flip(0))
""".strip().splitlines()

MASKS = """
{x} > 0
{x} > {y}
{x} >= 0.5
{x} == 0
{x} != {y}
{x}.abs() < 1
{x} > {x}.mean()
{x} == {x}.amax({d}, keepdim=True)
~{b}
{b} & {b}
{b}.any(-1)
{b}.all(0)
{b}.logical_not()
{i} > 1
{i} % 2 == 0
{i} == {i}.flip(0)
{i}.bool()
torch.isfinite({x})
torch.isclose({x}, {y})
torch.isin({i}, torch.tensor([0, 2]))
torch.ones({x}.shape[-1], dtype=torch.bool)
""".strip().splitlines()

# Statements that write into x, a tensor that forward computed.
WRITES = """
{x}.add_({y})
{x}.add_({y}, alpha=0.5)
{x}.mul_({c})
{x}.mul_({y})
{x}.sub_({w})
{x} += {y}
{x} *= {c}
{x} -= {x}.mean()
{x}.div_(2)
{x}.clamp_(-1, 1)
{x}.relu_()
{x}.tanh_()
{x}.sigmoid_()
{x}.neg_()
{x}.zero_()
{x}.fill_({c})
{x}.lerp_({y}, 0.25)
{x}.addcmul_({y}, {y}, value=0.5)
{x}.copy_({y})
{x}.masked_fill_({m}, {c})
{x}.masked_fill_({x} > 0, 0.0)
{x}.masked_scatter_({M}, {y})
{x}[{s}] = {c}
{x}[{s}] = {y}[{s}]
{x}[{s}] = {v}
{x}[{s}] += 1
{x}[{s}] *= {c}
{x}[{s}] -= {x}[{s}].detach()
{x}[{s}].add_(1)
{x}[{s}].zero_()
{x}[{m}] = {c}
{x}[{M}] = 0
{x}[{M}] *= 0.5
{x}[{k}] = {c}
{x}[{k}] += 1
{x}[:, [0, 1]] = 0.0
{x}[..., -1] = {x}[..., 0] * 2
{x}[0] = {x}[-1]
{x}[:, 0], {x}[:, 1] = {x}[:, 1].clone(), {x}[:, 0].clone()
{x}.transpose({d}, {e}).add_({c})
{x}.transpose({d}, {e})[0] = {c}
{x}.mT.mul_({y}.mT)
{x}.view(-1)[::2] = {c}
{x}.view(-1)[1:].mul_(0.5)
{x}.flatten()[:2].add_(1)
{x}.diagonal().add_(1)
{x}.diagonal().fill_({c})
{x}.fill_diagonal_({c})
{x}.narrow({d}, 0, 1).copy_({y}.narrow({d}, 0, 1))
{x}.select({d}, 0).sub_(1)
{x}.chunk(2, {d})[0].mul_(2)
{x}.unbind({d})[-1].add_({c})
{x}.split(1, {d})[0].fill_(0.5)
{x}.squeeze_()
{x}.unsqueeze_(0)
{x}.t_()
{x}.transpose_({d}, {e})
{x}.index_put_(({k} % {x}.shape[0],), {x}[0].detach(), accumulate=True)
{x}.index_put_((torch.tensor([0, 1]), torch.tensor([1, 0])), {x}.new_tensor({c}))
{x}.index_add_({d}, {k}, {x}.index_select({d}, {k}).detach())
{x}.index_fill_({d}, {k}, {c})
{x}.index_copy_({d}, torch.tensor([0]), {x}.narrow({d}, 0, 1) * 2)
{x}.scatter_({d}, {K}, {c})
{x}.scatter_add_({d}, {K}, {y}.expand_as({x}))
{x}.tril_()
{x}.triu_()
{x}.cumsum_({d})
{x}.exp_().clamp_(max=3)
{x}.abs_().sqrt_().add_(0.1)
F.relu({x}, inplace=True)
F.leaky_relu_({x}, 0.2)
F.elu({x}, inplace=True)
torch.nn.functional.hardtanh_({x})
{x}.pow_(2)
{x}.unfold({d}, 1, 1).mul_(2)
{x}.swapaxes({d}, {e}).flip(0).mul_(2)
""".strip().splitlines()
