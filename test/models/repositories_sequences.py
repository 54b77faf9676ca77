# SPDX-License-Identifier: Apache-2.0
"""Repositories on sequences: forecasting, language, speech and signals."""

import torch
from torch import nn
from torch.nn import functional as F

from repository_models import (Namespace, Step, repository, stand_in,
                               with_same_draws, without_cuda, without_dropout)


@repository("locuslab/TCN",
            "2f8c2b817050206397458dfd1f5a25ce8a32fe65",
            "sequence modelling", "temporal convolutions, adding problem")
def tcn(code):
    code.use()
    model = code.module("TCN/adding_problem/model.py").TCN(
        2, 1, [8] * 3, kernel_size=3, dropout=0.0)
    return (Step(model, lambda model, x, y: F.mse_loss(model(x), y)),
            lambda: (torch.rand(4, 2, 20), torch.rand(4, 1)))


@repository("laiguokun/LSTNet",
            "093c4dced7b7f7405be0620d65bb288b6d7ab4f0",
            "forecasting", "LSTNet with skips and highway",
            "a division of integers as in Python 2")
def lstnet(code):
    options = Namespace(
        cuda=False, window=16, hidRNN=8, hidCNN=8, hidSkip=4, CNN_kernel=4,
        skip=3, highway_window=6, dropout=0.0, output_fun="sigmoid")
    model = code.module("models/LSTNet.py").Model(options, Namespace(m=5))
    model.pt = int(model.pt)
    criterion = nn.L1Loss(reduction="sum")
    return (Step(model, lambda model, x, y: criterion(model(x) * 2.0, y * 2.0)),
            lambda: (torch.rand(4, 16, 5), torch.rand(4, 5)))


def forecast(model, x, y, x_mark, y_mark):
    """What exp_main.py of Autoformer and FEDformer computes."""
    decoder = torch.zeros_like(y[:, -8:, :]).float()
    decoder = torch.cat([y[:, :8, :], decoder], dim=1).float()
    outputs = model(x, x_mark, decoder, y_mark)
    return nn.MSELoss()(outputs[:, -8:, 0:], y[:, -8:, 0:])


def series():
    return (torch.randn(4, 16, 3), torch.randn(4, 16, 3), torch.randn(4, 16, 4),
            torch.randn(4, 16, 4))


def forecaster(**options):
    return Namespace(**{**dict(
        seq_len=16, label_len=8, pred_len=8, output_attention=False, enc_in=3,
        dec_in=3, c_out=3, d_model=16, embed="timeF", freq="h", dropout=0.0,
        factor=1, d_ff=32, activation="gelu", e_layers=2, d_layers=1), **options})


@repository("thuml/Autoformer",
            "51c7d416ae120b805fd5beef2f4ccf7de496a6ff",
            "forecasting", "Autoformer")
def autoformer(code):
    code.use()
    from models.Autoformer import Model
    return Step(Model(forecaster(moving_avg=5, n_heads=4)), forecast), series


@repository("MAZiqing/FEDformer",
            "c0f6b972def125691434d62be1ecadf710ae921a",
            "forecasting", "FEDformer, Fourier version")
def fedformer(code):
    code.use()
    from models.FEDformer import Model
    return Step(Model(forecaster(version="Fourier", mode_select="low", modes=4,
                                 moving_avg=[4, 6], n_heads=8)), forecast), series


@repository("philipperemy/n-beats",
            "06a4e209ada80bf1f403ced5228261784dfb26ed",
            "forecasting", "N-BEATS")
def n_beats(code):
    code.use()
    from nbeats_pytorch.model import NBeatsNet, squeeze_last_dim
    model = NBeatsNet(
        stack_types=("trend", "seasonality", "generic"), nb_blocks_per_stack=2,
        forecast_length=5, backcast_length=10, thetas_dim=(4, 8, 6),
        hidden_layer_units=32)
    return (Step(model, lambda model, x, y: F.mse_loss(
        model(x)[1], squeeze_last_dim(y))),
        lambda: (torch.randn(8, 10), torch.randn(8, 5)))


@repository("thuml/Anomaly-Transformer",
            "b0ee470c8012bff857fb600462aec6209c4a18d9",
            "anomaly detection", "Anomaly Transformer, both losses of its minimax",
            ".cuda() does nothing")
def anomaly_transformer(code):
    without_cuda()
    code.use()
    from model.AnomalyTransformer import AnomalyTransformer
    divergence = code.pick("solver.py", "my_kl_loss").my_kl_loss
    model = AnomalyTransformer(win_size=8, enc_in=3, c_out=3, d_model=16,
                               n_heads=2, e_layers=2, d_ff=16)

    def step(model, window):
        output, series, prior, _ = model(window)
        series_loss = prior_loss = 0.0
        for attention, p in zip(series, prior):
            p = p / torch.unsqueeze(torch.sum(p, dim=-1), dim=-1).repeat(1, 1, 1, 8)
            series_loss += (torch.mean(divergence(attention, p.detach()))
                            + torch.mean(divergence(p.detach(), attention)))
            prior_loss += (torch.mean(divergence(p, attention.detach()))
                           + torch.mean(divergence(attention.detach(), p)))
        error = nn.MSELoss()(output, window)
        return ((error - 3 * series_loss / len(prior))
                + (error + 3 * prior_loss / len(prior)))

    return Step(model, step), lambda: (torch.randn(4, 8, 3),)


@repository("jadore801120/attention-is-all-you-need-pytorch",
            "132907dd272e2cc92e3c10e6c4e783a87ff8893d",
            "translation", "Transformer, label smoothing")
def transformer(code):
    code.use()
    from transformer.Models import Transformer
    loss = code.pick("train.py", "cal_loss").cal_loss
    model = Transformer(30, 30, 0, 0, d_word_vec=16, d_model=16, d_inner=32,
                        n_layers=2, n_head=2, d_k=8, d_v=8, dropout=0.0)

    def data():
        source, target = (torch.randint(1, 30, (3, size)) for size in (7, 8))
        source[1, 5:], target[2, 6:] = 0, 0
        return source, target

    return Step(without_dropout(model), lambda model, source, target: loss(
        model(source, target[:, :-1]), target[:, 1:], 0, smoothing=True) / 21), data


def next_token(model, tokens, targets):
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


def tokens():
    return torch.randint(30, (2, 8)), torch.randint(30, (2, 8))


@repository("johnma2006/mamba-minimal",
            "03de542a36d873f6e6c4057ad687278cc6ae944d",
            "language", "Mamba")
def mamba_minimal(code):
    code.use()
    from model import Mamba, ModelArgs
    return Step(Mamba(ModelArgs(d_model=16, n_layer=2, vocab_size=40, d_state=4)),
                next_token), tokens


@repository("Jamie-Stirling/RetNet",
            "a5841a3ebffd181c7ec1d964b46060519df4b6c8",
            "language", "RetNet")
def retnet(code):
    code.use("src")
    from retnet import RetNet
    return Step(nn.Sequential(nn.Embedding(30, 16),
                              RetNet(2, 16, 32, 2, double_v_dim=True),
                              nn.Linear(16, 30)), next_token), tokens


@repository("Jamie-Stirling/RetNet",
            "a5841a3ebffd181c7ec1d964b46060519df4b6c8",
            "language", "RetNet of complex numbers",
            "complex_type follows the parameters, for the reference in float64")
def retnet_complex(code):
    code.use("src/complex")
    import retention
    import retnet

    def complex_type(layer):
        first = next(layer.parameters(), torch.zeros(0))
        return (torch.complex128 if first.dtype in (torch.float64, torch.complex128)
                else torch.complex64)

    for layer in (retention.SimpleRetention, retention.MultiScaleRetention):
        layer.complex_type = property(complex_type, lambda layer, value: None)
    return Step(retnet.RetNetCLM(2, 16, 32, 2, 30), next_token), tokens


@repository("state-spaces/s4",
            "e757cef57d89e448c413de7325ed5601aceaac13",
            "sequence modelling", "S4D")
def s4d(code):
    stand_in("src")
    stand_in("src.models")
    stand_in("src.models.nn", DropoutNd=nn.Dropout2d)
    code.use()
    layer = code.module("models/s4/s4d.py").S4D
    model = code.pick("example.py", "S4Model", S4D=layer, dropout_fn=nn.Dropout2d,
                      args=Namespace(lr=0.01)).S4Model
    return (Step(model(3, 10, d_model=8, n_layers=2, dropout=0.0),
                 lambda model, x, y: nn.CrossEntropyLoss()(model(x), y)),
            lambda: (torch.randn(3, 12, 3), torch.randint(10, (3,))))


@repository("loudinthecloud/pytorch-ntm",
            "3c64937cb075e737528ff7ecf02b2c1c6d8347a1",
            "memory networks", "neural Turing machine, copy task")
def ntm(code):
    code.use()
    from ntm.aio import EncapsulatedNTM
    model = EncapsulatedNTM(5, 4, 12, 1, 1, 8, 6)

    def step(net, x, y):
        x, y = x.transpose(0, 1), y.transpose(0, 1)
        net.init_sequence(y.size(1))
        for each in x:
            net(each)
        out = torch.zeros(y.size())
        for i in range(y.size(0)):
            out[i], _ = net()
        return nn.BCELoss()(out, y)

    return Step(model, step), lambda: (torch.randint(2, (3, 4, 5)).float(),
                                       torch.randint(2, (3, 3, 4)).float())


@repository("kmkurn/pytorch-crf",
            "623e3402d00a2728e99d6e8486010d67c754267b",
            "tagging", "LSTM and CRF")
def crf(code):
    code.use()
    from torchcrf import CRF
    model = nn.Module()
    model.embedding = nn.Embedding(30, 8)
    model.lstm = nn.LSTM(8, 8, bidirectional=True, batch_first=True)
    model.head, model.crf = nn.Linear(16, 5), CRF(5, batch_first=True)

    def step(model, words, tags, mask):
        scores = model.head(model.lstm(model.embedding(words))[0])
        return -model.crf(scores, tags, mask=mask, reduction="token_mean")

    def data():
        mask = torch.ones(3, 7, dtype=torch.bool)
        mask[1, 5:], mask[2, 3:] = False, False
        return torch.randint(30, (3, 7)), torch.randint(5, (3, 7)), mask

    return Step(model, step), data


@repository("r9y9/wavenet_vocoder",
            "a35fff76ea3687b05e1a10023cad3f7f64fa25a3",
            "vocoders", "WaveNet, mixture of logistics",
            "without the hooks that drop a cache of decoding, which the helper "
            "refuses")
def wavenet_vocoder(code):
    code.package("wavenet_vocoder", "wavenet_vocoder")
    from wavenet_vocoder.mixture import discretized_mix_logistic_loss
    from wavenet_vocoder.wavenet import WaveNet
    model = WaveNet(
        out_channels=6, layers=4, stacks=2, residual_channels=8, gate_channels=8,
        skip_out_channels=8, dropout=0.0, cin_channels=4,
        upsample_conditional_features=True, scalar_input=True,
        upsample_params={"upsample_scales": [2, 4], "cin_channels": 4})
    for child in model.modules():
        child._backward_hooks.clear()

    def step(model, x, c, mask):
        y_hat = model(x, c=c)
        losses = discretized_mix_logistic_loss(
            y_hat[:, :, :-1], x.transpose(1, 2)[:, 1:], num_classes=256,
            log_scale_min=-7.0, reduce=False)
        mask = mask[:, 1:].unsqueeze(-1)
        return (losses * mask).sum() / mask.sum()

    def data():
        mask = torch.ones(2, 24)
        mask[1, 20:] = 0
        return torch.rand(2, 1, 24) * 2 - 1, torch.randn(2, 4, 3), mask

    return Step(model, step), data


@repository("jik876/hifi-gan",
            "4769534d45265d52a904b850da5a622601885777",
            "vocoders", "HiFi-GAN, the generator's losses")
def hifi_gan(code):
    code.use()
    import models
    model = nn.Module()
    model.generator = models.Generator(Namespace(
        resblock="1", upsample_rates=[4, 4], upsample_kernel_sizes=[8, 8],
        upsample_initial_channel=16, resblock_kernel_sizes=[3, 5],
        resblock_dilation_sizes=[[1, 3, 5], [1, 3, 5]]))
    model.periods = models.DiscriminatorP(3)
    model.scales = models.DiscriminatorP(2, use_spectral_norm=True)

    def step(model, x, y):
        y_g = model.generator(x)
        loss = F.l1_loss(y, y_g) * 45
        for discriminator in (model.periods, model.scales):
            _, real = discriminator(y)
            score, fake = discriminator(y_g)
            loss = (loss + models.generator_loss([score])[0]
                    + models.feature_loss([real], [fake]))
        return loss

    return Step(model, step), lambda: (torch.randn(2, 80, 4), torch.randn(2, 1, 64))


@repository("jaywalnut310/vits",
            "2e561ba58618d021b5b8323d3765880f7e0ecfdb",
            "speech synthesis", "VITS, text and posterior encoders and flow",
            "draws the same numbers; a frame for each token in place of the "
            "alignment")
def vits(code):
    code.use()
    import losses
    import models
    with_same_draws(models)
    model = nn.Module()
    model.text = models.TextEncoder(20, 4, 8, 16, 2, 1, 3, 0.0)
    model.posterior = models.PosteriorEncoder(6, 4, 8, 5, 1, 2)
    model.flow = models.ResidualCouplingBlock(4, 8, 5, 1, 2, n_flows=2)

    def step(model, tokens, spectrogram, lengths):
        _, m_p, logs_p, _ = model.text(tokens, lengths)
        z, _, logs_q, mask = model.posterior(spectrogram, lengths)
        return losses.kl_loss(model.flow(z, mask), logs_q, m_p, logs_p, mask)

    return Step(model, step), lambda: (
        torch.randint(20, (3, 9)), torch.randn(3, 6, 9), torch.tensor([9, 7, 5]))


@repository("kaituoxu/Conv-TasNet",
            "0d9d9dcd8037b396fd029000af58cda6b7663b11",
            "source separation", "Conv-TasNet, permutation-invariant loss")
def conv_tasnet(code):
    code.use("src")
    from conv_tasnet import ConvTasNet
    from pit_criterion import cal_si_snr_with_pit
    model = ConvTasNet(N=16, L=8, B=8, H=16, P=3, X=2, R=2, C=2, norm_type="gLN")
    lengths = torch.tensor([64, 64, 64])
    return (Step(model, lambda model, mixture, source: 0 - torch.mean(
        cal_si_snr_with_pit(source, model(mixture), lengths)[0])),
        lambda: (torch.randn(3, 64), torch.randn(3, 2, 64)))


@repository("thuml/predrnn-pytorch",
            "49d3b0f3a2757ad9c299716ec455a96868455d67",
            "video prediction", "PredRNN v2")
def predrnn(code):
    code.use()
    from core.models.predrnn_v2 import RNN
    model = RNN(2, [8, 8], Namespace(
        visual=0, visual_path=None, patch_size=2, img_channel=1, img_width=8,
        filter_size=3, stride=1, layer_norm=True, device="cpu", total_length=5,
        input_length=3, reverse_scheduled_sampling=0, decouple_beta=0.1))
    return (Step(model, lambda model, frames, mask: model(frames, mask)[1]),
            lambda: (torch.rand(2, 5, 4, 4, 4),
                     torch.randint(2, (2, 1, 4, 4, 4)).float()))


@repository("EmilienDupont/neural-processes",
            "b6f31c36a9f9df6b80d2a7f9ba756855fce0e13b",
            "meta-learning", "neural process", "draws the same numbers")
def neural_process(code):
    code.use()
    from neural_process import NeuralProcess
    from torch.distributions.kl import kl_divergence
    with_same_draws()
    trainer = code.pick("training.py", "NeuralProcessTrainer",
                        kl_divergence=kl_divergence).NeuralProcessTrainer

    def step(model, x, y):
        context = x[:, :4].contiguous(), y[:, :4].contiguous()
        p_y, q_target, q_context = model(*context, x, y)
        return trainer._loss(None, p_y, y, q_target, q_context)

    return (Step(NeuralProcess(1, 1, 8, 8, 16), step),
            lambda: (torch.randn(3, 10, 1), torch.randn(3, 10, 1)))


@repository("adjidieng/ETM",
            "81b839f16d3c168ac2c5c22daff18d924962c075",
            "topic models", "embedded topic model", "draws the same numbers")
def etm(code):
    code.use()
    import etm
    with_same_draws(etm)
    model = etm.ETM(num_topics=5, vocab_size=40, t_hidden_size=16, rho_size=8,
                    emsize=8, theta_act="relu", enc_drop=0.0)

    def step(model, bows):
        error, divergence = model(bows, bows / bows.sum(1).unsqueeze(1))
        return error + divergence

    return Step(model, step), lambda: (torch.poisson(torch.ones(6, 40)) + 0.1,)


@repository("meijieru/crnn.pytorch",
            "3cc7904c5ba20b18fcdc2d02ac2b24a9be9eafaf",
            "text recognition", "CRNN", "PyTorch's CTC loss for warp_ctc")
def crnn(code):
    model = code.module("models/crnn.py").CRNN(32, 1, 7, 16)
    criterion = nn.CTCLoss(reduction="sum", zero_infinity=True)

    def step(model, images, text, length):
        predictions = model(images).log_softmax(2)
        sizes = torch.full((len(images),), len(predictions), dtype=torch.long)
        return criterion(predictions, text, sizes, length) / len(images)

    return Step(model, step), lambda: (
        torch.rand(2, 1, 32, 24) * 2 - 1, torch.randint(1, 7, (2, 3)),
        torch.randint(2, 4, (2,)))


@repository("jeshraghian/snntorch",
            "634fc22385ec5581998e62787bbe39b53662140f",
            "spiking networks", "leaky neurons, surrogate gradients")
def snntorch(code):
    code.use()
    import snntorch
    import snntorch.functional
    from snntorch import surrogate
    slope = surrogate.fast_sigmoid()
    model = nn.Module()
    model.input, model.output = nn.Linear(6, 16), nn.Linear(16, 3)
    model.hidden = snntorch.Leaky(beta=0.9, spike_grad=slope, learn_beta=True)
    model.last = snntorch.Leaky(beta=0.8, spike_grad=slope)
    loss = snntorch.functional.ce_rate_loss()

    def step(model, x, y):
        first, second = model.hidden.init_leaky(), model.last.init_leaky()
        spikes = []
        for frame in x.transpose(0, 1):
            spike, first = model.hidden(model.input(frame), first)
            spike, second = model.last(model.output(spike), second)
            spikes.append(spike)
        return loss(torch.stack(spikes), y)

    return Step(model, step), lambda: (torch.randn(4, 5, 6) * 2,
                                       torch.randint(3, (4,)))
