# SPDX-License-Identifier: Apache-2.0
"""The layers, buffers, parameters and losses of random modules, as text.

Templates as in vocabulary.py. In what a layer is made of, `L` is the size of
x's last dimension, `C` that of dimension 1, and both stand for numbers; {f} is
the name of the layer itself.
"""

# (what makes the layer, what uses it)
LAYERS = (
    ("nn.Linear(L, {o})", "self.{f}({x})"),
    ("nn.Linear(L, {o})", "F.relu(self.{f}({x}))"),
    ("nn.Linear(L, L, bias=False)", "{x} + self.{f}({x})"),
    ("nn.Linear(L, L)", "self.{f}(self.{f}({x}).tanh())"),
    ("nn.Linear(L, {o})", "F.linear({x}, self.{f}.weight)"),
    ("nn.Linear(L, L)", "{x} @ self.{f}.weight + self.{f}.bias"),
    ("nn.Bilinear(L, L, 2)", "self.{f}({x}, {x}.flip(0))"),
    ("nn.Conv1d(C, {o}, 2)", "self.{f}({x})"),
    ("nn.Conv1d(C, C, 3, padding=1, groups=C)", "self.{f}({x})"),
    ("nn.Conv1d(C, 2, 3, padding=2, dilation=2)", "self.{f}({x})"),
    ("nn.ConvTranspose1d(C, 2, 2, stride=2)", "self.{f}({x})"),
    ("nn.Conv1d(C, 2, 1)", "self.{f}({x}).transpose(1, 2)"),
    ("nn.Conv2d(C, 2, 2)", "self.{f}({x})"),
    ("nn.Conv2d(C, 2, 3, stride=2, padding=1, bias=False)", "self.{f}({x})"),
    ("nn.Conv2d(C, C, 3, padding='same', padding_mode='circular')",
     "self.{f}({x})"),
    ("nn.ConvTranspose2d(C, 2, 2)", "self.{f}({x})"),
    ("nn.LayerNorm(L)", "self.{f}({x})"),
    ("nn.LayerNorm(L, elementwise_affine=False)", "self.{f}({x})"),
    ("nn.LayerNorm(L, bias=False)", "{x} + self.{f}({x})"),
    ("nn.LayerNorm((C, L))", "self.{f}({x})"),
    ("nn.RMSNorm(L)", "self.{f}({x})"),
    ("nn.BatchNorm1d(C)", "self.{f}({x})"),
    ("nn.BatchNorm1d(C, affine=False)", "self.{f}({x})"),
    ("nn.BatchNorm1d(C, momentum=None)", "self.{f}({x})"),
    ("nn.BatchNorm1d(C, track_running_stats=False)", "self.{f}({x})"),
    ("nn.BatchNorm2d(C)", "self.{f}({x})"),
    ("nn.GroupNorm(1, C)", "self.{f}({x})"),
    ("nn.GroupNorm(C, C)", "self.{f}({x})"),
    ("nn.InstanceNorm1d(C, affine=True)", "self.{f}({x})"),
    ("nn.InstanceNorm1d(C, affine=True, track_running_stats=True)",
     "self.{f}({x})"),
    ("nn.Embedding(5, {o})", "self.{f}({i} % 5)"),
    ("nn.Embedding(5, {o}, padding_idx=0)", "self.{f}({i} % 5)"),
    ("nn.Embedding(4, L)", "{x} + self.{f}.weight[{n}]"),
    ("nn.Embedding(D, L)", "{x} + self.{f}(torch.arange(D))"),
    ("nn.Embedding(5, 3, scale_grad_by_freq=True)", "self.{f}({i} % 5)"),
    ("nn.EmbeddingBag(5, 3, mode='sum')", "self.{f}({i}.long() % 5)"),
    ("nn.EmbeddingBag(5, 3, mode='mean', padding_idx=1)",
     "self.{f}({i}.long() % 5)"),
    ("nn.PReLU()", "self.{f}({x})"),
    ("nn.PReLU(C)", "self.{f}({x})"),
    ("nn.GLU({d})", "self.{f}({x})"),
    ("nn.Softmax({d})", "self.{f}({x})"),
    ("nn.ReLU(inplace=True)", "self.{f}({x} - 0.25)"),
    ("nn.Identity()", "self.{f}({x})"),
    ("nn.Dropout(0.0)", "self.{f}({x})"),
    ("nn.Flatten()", "self.{f}({x})"),
    ("nn.Unflatten(1, (-1, 1))", "self.{f}({x})"),
    ("nn.AvgPool1d(2)", "self.{f}({x})"),
    ("nn.MaxPool1d(2, padding=1)", "self.{f}({x})"),
    ("nn.AdaptiveAvgPool1d(2)", "self.{f}({x})"),
    ("nn.Upsample(scale_factor=2)", "self.{f}({x})"),
    ("nn.ZeroPad2d(1)", "self.{f}({x})"),
    ("nn.ReflectionPad1d(1)", "self.{f}({x})"),
    ("nn.MultiheadAttention(L, 1, batch_first=True)",
     "self.{f}({x}, {x}, {x})[0]"),
    ("nn.MultiheadAttention(L, 1)",
     "self.{f}({x}, {x}, {x}, need_weights=False)[0]"),
    ("nn.MultiheadAttention(L, 1, batch_first=True, bias=False)",
     "self.{f}({x}, {x}, {x}, attn_mask=torch.ones(C, C, dtype=torch.bool)"
     ".triu(1))[1]"),
    ("nn.MultiheadAttention(L, 1, add_zero_attn=True, add_bias_kv=True)",
     "self.{f}({x}, {x}, {x})[0]"),
    ("nn.TransformerEncoderLayer(L, 1, 4, dropout=0.0, batch_first=True)",
     "self.{f}({x})"),
    ("nn.TransformerEncoderLayer(L, 1, 4, dropout=0.0, norm_first=True, "
     "activation='gelu')", "self.{f}({x})"),
    ("nn.GRU(L, 3, batch_first=True)", "self.{f}({x})[0]"),
    ("nn.GRU(L, 2, bidirectional=True)", "self.{f}({x})[1]"),
    ("nn.LSTM(L, 2, batch_first=True)", "self.{f}({x})[0]"),
    ("nn.LSTM(L, 3, proj_size=2)", "self.{f}({x})[0]"),
    ("nn.LSTM(L, 2, 2, bias=False)", "self.{f}({x})[1][0]"),
    ("nn.RNN(L, 2, nonlinearity='relu')", "self.{f}({x})[0]"),
    ("nn.GRUCell(L, 3)", "self.{f}({x})"),
    ("nn.LSTMCell(L, 2)", "self.{f}({x})[1]"),
    ("nn.Sequential(nn.Linear(L, 4), nn.ReLU(), nn.Linear(4, L))",
     "{x} + self.{f}({x})"),
    ("nn.Sequential(nn.LayerNorm(L), nn.Linear(L, L), nn.Tanh())",
     "self.{f}({x}) * {y}"),
    ("nn.ModuleList([nn.Linear(L, L) for _ in range(2)])",
     "sum(layer({x}) for layer in self.{f})"),
    ("nn.ModuleDict({'a': nn.Linear(L, L), 'unused': nn.Linear(L, 2)})",
     "self.{f}['a']({x})"),
    ("nn.ParameterList([torch.ones(L), torch.zeros(L)])",
     "{x} * self.{f}[0] + self.{f}[1]"),
    ("nn.utils.parametrizations.weight_norm(nn.Linear(L, 3))",
     "self.{f}({x})"),
    ("nn.utils.parametrizations.spectral_norm(nn.Linear(L, 3))",
     "self.{f}({x})"),
    ("nn.utils.parametrizations.orthogonal(nn.Linear(L, L))", "self.{f}({x})"),
)

# What changes a layer that was made: tied, frozen, unused.
CHANGES = (
    "self.{f}.requires_grad_(False)",
    "self.{f}.weight.requires_grad_(False)",
    "self.{f}.bias.requires_grad_(False)",
    "self.{f}.weight = self.{g}.weight",
    "self.{f}.bias = self.{g}.bias",
    "nn.init.zeros_(self.{f}.weight)",
    "nn.init.ones_(self.{f}.bias)",
    "self.{f}_again = self.{f}",
)

PARAMETERS = (
    "nn.Parameter(torch.randn({shape}) * 0.5)",
    "nn.Parameter(torch.randn({shape}) * 0.5)",
    "nn.Parameter(torch.zeros({shape}))",
    "nn.Parameter(torch.ones({shape}))",
    "nn.Parameter(torch.full({shape}, 0.5))",
    "nn.Parameter(torch.randn({shape}) * 0.5, requires_grad=False)",
)

BUFFERS = (
    "torch.zeros({shape})",
    "torch.ones({shape})",
    "torch.randn({shape})",
    "torch.randn({shape}).round()",
)

# (what a buffer begins as, what forward does with it)
BUFFER_WRITES = (
    ("torch.zeros({S})", "self.{f}.mul_(0.9).add_(0.1 * {x}.detach())"),
    ("torch.zeros({S})", "self.{f}.copy_({x}.detach())"),
    ("torch.zeros({S})", "self.{f} = 0.5 * self.{f} + 0.5 * {x}.detach()"),
    ("torch.zeros({S})", "self.{f} = {x}.detach()"),
    ("torch.zeros({S})", "self.{f} = {x}.detach().clone()"),
    ("torch.zeros({S})", "self.{f}[{s}] = {x}.detach()[{s}]"),
    ("torch.ones({S})", "self.{f}[{s}].mul_(0.5)"),
    ("torch.ones({S})", "self.{f}.lerp_({x}.detach(), 0.25)"),
    ("torch.ones({S})", "self.{f}.masked_fill_({M}, 0.5)"),
    ("torch.zeros({S})", "self.{f} += {x}.detach()"),
    ("torch.zeros({S})", "self.{f}.add_({x}.detach() > 0)"),
    ("torch.zeros({S})", "self.{f}.transpose({d}, {e}).copy_("
     "{x}.detach().transpose({d}, {e}))"),
    ("torch.zeros(4, {x}.shape[-1])",
     "self.{f} = torch.cat([self.{f}[1:], {x}.detach().flatten(0, -2)[:1]])"),
    ("torch.zeros(4, {x}.shape[-1])",
     "self.{f}[1] = {x}.detach().flatten(0, -2).mean(0)"),
    ("torch.zeros(4, {x}.shape[-1])",
     "self.{f}[:-1] = self.{f}[1:].clone()"),
    ("torch.zeros(4, {x}.shape[-1])",
     "self.{f}.index_add_(0, {i}.flatten()[:1] % 4, "
     "{x}.detach().flatten(0, -2)[:1])"),
    ("torch.zeros(())", "self.{f}.add_(1)"),
    ("torch.zeros(())", "self.{f} = self.{f} + {x}.detach().mean()"),
    ("torch.zeros((), dtype=torch.int64)", "self.{f} += 1"),
    ("torch.zeros((), dtype=torch.int64)", "self.{f}.add_(1)"),
    ("torch.tensor(0)", "self.{f} = self.{f} + {b}.sum()"),
    ("torch.zeros(4, dtype=torch.int64)",
     "self.{f}.add_(torch.bincount({i}.flatten().abs() % 4, minlength=4))"),
    ("torch.zeros(4, dtype=torch.int64)",
     "self.{f}.scatter_add_(0, {i}.flatten().long() % 4, "
     "torch.ones_like({i}.flatten().long()))"),
    ("torch.zeros({x}.shape[-1], dtype=torch.bool)",
     "self.{f} |= ({x}.detach() > 0.5).flatten(0, -2).any(0)"),
    ("torch.ones(3)", "self.{f}.clamp_(max={x}.detach().mean())"),
    ("torch.zeros({x}.shape[-1])",
     "self.{f}.copy_({x}.detach().flatten(0, -2).amax(0))"),
    ("torch.zeros(2, dtype=torch.float64)",
     "self.{f}[0] += {x}.detach().sum()"),
)

BUFFER_READS = ("{x} * self.{f}.mean()", "{x} + self.{f}.sum() * 0.01",
                "{x} - self.{f}", "{x} / (self.{f}.abs() + 1)",
                "torch.where(self.{f} > 0.5, {x}, {c})")

LOSSES = """
{x}.mean()
{x}.square().mean()
{x}.sum() * 0.1
{x}.pow(2).sum() / {x}.numel()
({x} - {y}).square().mean()
({x} - {y}).abs().mean()
{x}.norm()
{x}.amax(-1).mean()
({x} * {y}.detach()).mean()
({x} * {m}).sum() / {m}.sum().clamp(min=1)
{x}.logsumexp(-1).mean()
-(F.softmax({x}, -1) * F.log_softmax({x}, -1)).sum(-1).mean()
torch.stack([{x}.mean(), {x}.square().mean()]).sum()
F.mse_loss({x}, {T})
F.mse_loss({x}, {T}, reduction="sum") / 8
F.mse_loss({x}, {T}, reduction="none").mean(0).sum()
F.l1_loss({x}, {T})
F.smooth_l1_loss({x}, {T}, beta=0.5)
F.smooth_l1_loss({x}, {T}, reduction="sum", beta=2.0)
F.huber_loss({x}, {T}, delta=0.7)
nn.MSELoss()({x}, {T})
F.cross_entropy({x}, {L})
F.cross_entropy({x}, {L}, label_smoothing=0.1)
F.cross_entropy({x}, {L}, ignore_index=1)
F.cross_entropy({x}, {L}, reduction="sum", ignore_index=0)
F.cross_entropy({x}, {L}, reduction="none").square().mean()
F.cross_entropy({x}, {L}, weight=torch.linspace(0.5, 2, {x}.shape[1]))
F.cross_entropy({x}, {L}, weight={x}.new_ones({x}.shape[1]), label_smoothing=0.2, ignore_index=1)
F.cross_entropy({x}, {T}.softmax(1))
F.cross_entropy({x}, {T}.softmax(1), label_smoothing=0.1, reduction="sum")
F.cross_entropy({x}.flatten(0, -2), {J})
nn.CrossEntropyLoss(reduction="sum")({x}, {L}) / 4
F.nll_loss({x}.log_softmax(1), {L})
F.nll_loss(F.log_softmax({x}, 1), {L}, ignore_index=2, reduction="sum")
F.binary_cross_entropy_with_logits({x}, {B})
F.binary_cross_entropy_with_logits({x}, {B}, pos_weight={x}.new_tensor(2.0))
F.binary_cross_entropy_with_logits({x}, {B}, weight={y}.detach().abs(), reduction="sum")
F.binary_cross_entropy({x}.sigmoid(), {B})
F.binary_cross_entropy({x}.clamp(0, 1), {B})
F.binary_cross_entropy({x}.sigmoid(), {B}, weight={y}.detach().abs(), reduction="sum")
F.kl_div({x}.log_softmax(-1), {T}.softmax(-1), reduction="batchmean")
F.kl_div({x}.log_softmax(-1), {T}.log_softmax(-1), log_target=True)
F.kl_div({x}.log_softmax(-1), {T}.softmax(-1), reduction="sum")
F.hinge_embedding_loss({x}, {B} * 2 - 1, margin=0.5)
F.margin_ranking_loss({x}, {y}, {B} * 2 - 1, margin=0.1)
F.soft_margin_loss({x}, {B} * 2 - 1)
F.cosine_embedding_loss({x}, {T}, {x}.new_ones({x}.shape[0]), margin=0.1)
F.cosine_embedding_loss({x}, {T}, -{x}.new_ones({x}.shape[0]))
F.triplet_margin_loss({x}, {T}, {y} + 1, margin=0.5)
F.triplet_margin_loss({x}, {T}, {T}.flip(0) + 1, swap=True, p=1)
F.multi_margin_loss({x}, {L})
F.multi_margin_loss({x}, {L}, p=2, margin=0.5, reduction="sum")
F.multilabel_soft_margin_loss({x}, {B})
F.poisson_nll_loss({x}, {T}.abs())
F.poisson_nll_loss({x}.exp().clamp(max=5), {T}.abs(), log_input=False, full=True)
(1 - F.cosine_similarity({x}, {T}, dim=-1)).mean()
{x}[{M}].sum()
{x}[{x} > 0].square().sum()
{x}.masked_select({M}).sum()
""".strip().splitlines()
