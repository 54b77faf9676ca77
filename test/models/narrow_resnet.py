# SPDX-License-Identifier: Apache-2.0
"""torchvision's ResNet-18, narrowed so that its weights fit in git.

Blocks, strides, forward and initialization are torchvision's. Only the widths
differ (`width` channels in the first stage instead of 64, doubled in each
later one), and the first convolution reads one grey channel instead of three.
"""

from torch import nn
from torchvision.models import resnet


class NarrowResNet(resnet.ResNet):

    def __init__(self, width, num_classes):
        # ResNet.__init__ fixes the widths; what it sets is set here instead.
        nn.Module.__init__(self)
        self._norm_layer = nn.BatchNorm2d
        self.inplanes, self.dilation = width, 1
        self.groups, self.base_width = 1, 64
        self.conv1 = nn.Conv2d(1, width, kernel_size=7, stride=2, padding=3,
                               bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for stage in range(4):
            self.add_module(f"layer{stage + 1}", self._make_layer(
                resnet.BasicBlock, width << stage, blocks=2,
                stride=1 if stage == 0 else 2))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(self.inplanes, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out",
                                        nonlinearity="relu")
