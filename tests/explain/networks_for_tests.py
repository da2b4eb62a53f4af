"""Networks that several tests of explanations use."""

import torch
from torch import nn


def randomize_batch_norm(model, seed=0):
    """Give batch normalisation statistics and weights as after a training."""
    torch.manual_seed(seed)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.1)
    return model.eval()
