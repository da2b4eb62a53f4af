import torch
from torch.nn.functional import interpolate

SHARES = (0.05, 0.1, 0.2, 0.4)  # of the patches, the most relevant first


@torch.no_grad()
def mean_logit(network, images, targets, relevance, blank) -> torch.Tensor:
    """Compute the mean logit of the targets while patches are deleted.

    Images and their `blank` versions are float (N, 3, H, W), and the relevance of the
    patches is float (N, rows, columns). The result has the shape (N,).
    """
    order = relevance.flatten(1).argsort(1, descending=True)
    rank = order.argsort(1)  # 0 is the most relevant patch
    rank = rank.view_as(relevance)
    n_patches = rank[0].numel()
    size = images.shape[-2:]
    logits = []
    for share in SHARES:
        is_deleted = rank < share * n_patches
        mask = interpolate(is_deleted[:, None].float(), size)
        remaining = torch.where(mask > 0, blank, images)
        of_classes = network(remaining)
        of_targets = of_classes.gather(1, targets[:, None])
        logits.append(of_targets)
    logits = torch.cat(logits, 1)
    return logits.mean(1)
