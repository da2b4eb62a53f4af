"""The paper's three architectures at reduced size, for images of 96 pixels.

`epochs` is the number in which each learns 100 synthetic images per class, and `rate` the highest
learning rate of a run's cycle.
"""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import torch
from torch import nn

WIDTH = 8


class AlexNetQuarter(nn.Module):
    """torchvision's AlexNet, a quarter of the channels, with batch normalisation; from 63 px."""

    def __init__(self, num_classes: int):
        super().__init__()
        self.features = nn.Sequential(
            *_block(3, 16, 11, stride=4, padding=2),
            nn.MaxPool2d(kernel_size=3, stride=2),
            *_block(16, 48, 5, padding=2),
            nn.MaxPool2d(kernel_size=3, stride=2),
            *_block(48, 96, 3, padding=1),
            *_block(96, 64, 3, padding=1),
            *_block(64, 64, 3, padding=1),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(
            nn.Dropout(0.5),
            nn.Linear(64 * 2 * 2, 256),
            nn.ReLU(),
            nn.Linear(256, num_classes),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _block(before: int, after: int, kernel: int, **settings) -> list[nn.Module]:
    convolution = nn.Conv2d(before, after, kernel, bias=False, **settings)
    return [convolution, nn.BatchNorm2d(after), nn.ReLU()]


def vgg_eighth(num_classes: int) -> nn.Module:
    """torchvision's VGG-11 with batch normalisation, an eighth of the channels; from 32 px."""
    vgg = import_module("torchvision.models.vgg")  # loaded late: it takes seconds
    layers = [part if part == "M" else part // WIDTH for part in vgg.cfgs["A"][:-1]]
    features = vgg.make_layers(layers, batch_norm=True)
    network = vgg.VGG(features, num_classes, init_weights=False)
    network.features[0] = nn.Conv2d(3, 64 // WIDTH, 3, stride=2, padding=1)
    network.avgpool = nn.AdaptiveAvgPool2d((3, 3))
    network.classifier = nn.Sequential(
        nn.Dropout(0.2),
        nn.Linear(64 * 3 * 3, 128),
        nn.ReLU(),
        nn.Linear(128, num_classes),
    )
    return network


def resnet_eighth(num_classes: int) -> nn.Module:
    """torchvision's ResNet-10 (one block a layer), an eighth of the channels; from 32 px."""
    resnet = import_module("torchvision.models.resnet")
    network = resnet.ResNet.__new__(resnet.ResNet)
    nn.Module.__init__(network)
    network._norm_layer, network.dilation = nn.BatchNorm2d, 1
    network.groups, network.base_width, network.inplanes = 1, 64, 64 // WIDTH
    network.conv1 = nn.Conv2d(3, network.inplanes, 7, stride=4, padding=3, bias=False)
    network.bn1 = nn.BatchNorm2d(network.inplanes)
    network.relu = nn.ReLU(inplace=True)
    network.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
    for number, planes in enumerate((64, 128, 256, 512), 1):
        stride = 1 if number <= 2 else 2
        layer = network._make_layer(resnet.BasicBlock, planes // WIDTH, 1, stride)
        setattr(network, f"layer{number}", layer)
    network.avgpool = nn.AdaptiveAvgPool2d((1, 1))
    network.fc = nn.Linear(512 // WIDTH, num_classes)
    return network


class Reduced(NamedTuple):
    """A reduced architecture: its network for a number of classes, and how it is trained."""

    build: Callable[[int], nn.Module]
    rate: float
    epochs: int


REDUCED = {
    "alexnet-quarter": Reduced(AlexNetQuarter, rate=3e-3, epochs=4),
    "vgg11-eighth": Reduced(vgg_eighth, rate=3e-3, epochs=3),
    "resnet10-eighth": Reduced(resnet_eighth, rate=5e-3, epochs=3),
}
