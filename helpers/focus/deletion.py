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
    rank = order.argsort(1).view_as(relevance)  # 0 is the most relevant patch
    logits = []
    for share in SHARES:
        is_deleted = rank < share * rank[0].numel()
        is_deleted = interpolate(is_deleted[:, None].float(), images.shape[-2:]) > 0
        remaining = torch.where(is_deleted, blank, images)
        logits.append(network(remaining).gather(1, targets[:, None])[:, 0])
    return torch.stack(logits).mean(0)
