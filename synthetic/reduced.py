"""Build the paper's three architectures at reduced size, for images of 96 pixels."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import torch
from torch import nn

WIDTH = 8  # divides the channels of the eighths


class AlexNetQuarter(nn.Module):
    """AlexNet with a quarter of the channels and batch normalization.

    Parameters
    ----------
    num_classes : int
    """

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

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Compute the logits of normalized images of at least 63 pixels."""
        features = self.avgpool(self.features(images))
        return self.classifier(features.flatten(1))


def _block(
    in_channels: int, out_channels: int, kernel: int, **settings
) -> list[nn.Module]:
    """Return a convolution with batch normalization."""
    return [
        nn.Conv2d(in_channels, out_channels, kernel, bias=False, **settings),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(),
    ]


def vgg_eighth(num_classes: int) -> nn.Module:
    """Build a VGG-11 with batch normalization and an eighth of the channels.

    Parameters
    ----------
    num_classes : int

    Returns
    -------
    nn.Module
        For images of at least 32 pixels.
    """
    vgg = import_module("torchvision.models.vgg")  # loaded late: it takes seconds
    layers = []
    for channels in vgg.cfgs["A"][:-1]:
        layers.append("M" if channels == "M" else channels // WIDTH)  # M is a pooling
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
    """Build a ResNet-10 (one block per layer) with an eighth of the channels.

    Parameters
    ----------
    num_classes : int

    Returns
    -------
    nn.Module
        For images of at least 32 pixels.
    """
    resnet = import_module("torchvision.models.resnet")
    network = resnet.ResNet.__new__(resnet.ResNet)  # its constructor sets the channels
    nn.Module.__init__(network)
    network._norm_layer = nn.BatchNorm2d
    network.dilation = 1
    network.groups = 1
    network.base_width = 64
    network.inplanes = 64 // WIDTH
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
    """Describe a reduced architecture.

    Attributes
    ----------
    build : callable
        Returns the network for a number of classes.
    rate : float
        The highest learning rate of the cycle of a training run.
    epochs : int
        The number of epochs in which it learns 100 synthetic images per class.
    """

    build: Callable[[int], nn.Module]
    rate: float
    epochs: int


REDUCED = {
    "alexnet-quarter": Reduced(AlexNetQuarter, rate=3e-3, epochs=4),
    "vgg11-eighth": Reduced(vgg_eighth, rate=3e-3, epochs=3),
    "resnet10-eighth": Reduced(resnet_eighth, rate=5e-3, epochs=3),
}
