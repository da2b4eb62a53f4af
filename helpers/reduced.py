"""The paper's three architectures at reduced size, for images of 96 pixels: layers and names as
torchvision's, fewer channels.

AlexNet has a quarter of its channels (:class:`helpers.networks.AlexNetQuarter`), VGG-11 and
ResNet-18 an eighth. Each trains in half a minute on one core.
"""

from __future__ import annotations

from torch import nn
from torchvision.models import resnet, vgg

WIDTH = 8


class VGGEighth(vgg.VGG):
    """torchvision's VGG-11 with batch normalisation, with an eighth of the channels.

    Takes images of 32 px and more; meant for 96.
    """

    def __init__(self, num_classes: int, dropout: float = 0.5):
        layers = [part if part == "M" else part // WIDTH for part in vgg.cfgs["A"]]
        super().__init__(vgg.make_layers(layers, batch_norm=True), num_classes, init_weights=False)
        self.avgpool = nn.AdaptiveAvgPool2d((3, 3))
        self.classifier = nn.Sequential(
            nn.Linear(64 * 3 * 3, 512),
            nn.ReLU(True),
            nn.Dropout(dropout),
            nn.Linear(512, 512),
            nn.ReLU(True),
            nn.Dropout(dropout),
            nn.Linear(512, num_classes),
        )


class ResNetEighth(resnet.ResNet):
    """torchvision's ResNet-18, with an eighth of the channels; takes images of 32 px and more."""

    def __init__(self, num_classes: int):
        nn.Module.__init__(self)
        self._norm_layer, self.dilation, self.groups, self.base_width = nn.BatchNorm2d, 1, 1, 64
        self.inplanes = 64 // WIDTH
        self.conv1 = nn.Conv2d(3, self.inplanes, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for number, planes in enumerate((64, 128, 256, 512), 1):
            stride = 1 if number == 1 else 2
            layer = self._make_layer(resnet.BasicBlock, planes // WIDTH, 2, stride)
            setattr(self, f"layer{number}", layer)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 // WIDTH, num_classes)


REDUCED = {"vgg11-eighth": VGGEighth, "resnet18-eighth": ResNetEighth}
EPOCHS = {"vgg11-eighth": 7, "resnet18-eighth": 10}
"""Epochs after which they have learned what they will on 100 images a class."""
