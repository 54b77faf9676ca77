# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN with every option that changes their form: recurrent.pt2."""

import torch

from fixture import write


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.networks = torch.nn.ModuleList([
            torch.nn.LSTM(3, 4, batch_first=True),
            torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True),
            torch.nn.LSTM(3, 2, bias=False),
            torch.nn.GRU(3, 4, num_layers=2, batch_first=True),
            torch.nn.GRU(3, 2, bidirectional=True, bias=False),
            torch.nn.RNN(3, 4, nonlinearity="tanh"),
            torch.nn.RNN(3, 4, nonlinearity="relu", batch_first=True),
        ])

    def forward(self, x):
        results = []
        for network in self.networks:
            output, state = network(x)
            results += [output, *(state if isinstance(state, tuple)
                                  else [state])]
        return tuple(results)


if __name__ == "__main__":
    torch.manual_seed(0)
    write("recurrent", Recurrent(), [torch.randn(2, 5, 3)])
